package variables

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"ctxfs/backing"
	"ctxfs/room"
)

// forget has the labels of scope read again when they are next asked for.
func (l *labels) forget(scope Scope) {
	l.mu.Lock()
	s := l.scopes[scope]
	l.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = false
	s.gen++
}

// forgetAll is forget for every scope.
func (l *labels) forgetAll() {
	l.mu.Lock()
	scopes := slices.Collect(maps.Keys(l.scopes))
	l.mu.Unlock()
	for _, scope := range scopes {
		l.forget(scope)
	}
}

// load reads the file, and drops what has no variable; s.write is held. Where
// somebody else has done it meanwhile it does nothing.
func (s *scopeLabels) load(ctx context.Context, store backing.Store, scope Scope) error {
	s.mu.RLock()
	loaded, gen := s.loaded, s.gen
	s.mu.RUnlock()
	if loaded {
		return nil
	}
	text, _, err := readLabels(ctx, store, labelFile(scope))
	if err != nil {
		return err
	}
	lines, count := parseLabels(text)
	for key := range lines {
		if _, err := store.Stat(ctx, scopeDir(scope).Join(key)); errors.Is(err, backing.ErrNotFound) {
			delete(lines, key)
		} else if err != nil {
			return err
		}
	}
	s.count, s.torn = count, len(text) > 0 && text[len(text)-1] != '\n'
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines, s.loaded = lines, s.gen == gen
	return nil
}

// parseLabels returns the last line of each key that has one, and how many
// lines there are.
func parseLabels(text []byte) (lines map[string]*labelLine, count int) {
	lines = map[string]*labelLine{}
	for line := range bytes.Lines(text) {
		count++
		var l labelLine
		if json.Unmarshal(line, &l) != nil || l.Key == "" {
			continue // half a line: the change that it was for did not happen
		}
		if lines[l.Key] = &l; l.Gone {
			delete(lines, l.Key)
		}
	}
	return lines, count
}

// readLabels returns what is in a file of labels, and at which revision that
// is; backing.Absent where there is none.
func readLabels(ctx context.Context, store backing.Store, key backing.Key) (text []byte, rev backing.Revision, err error) {
	for {
		m, err := store.Stat(ctx, key)
		if errors.Is(err, backing.ErrNotFound) {
			return nil, backing.Absent, nil
		}
		if err != nil {
			return nil, "", err
		}
		c, err := store.Open(ctx, key, m.Revision)
		if errors.Is(err, backing.ErrNotFound) {
			continue // changed between the two looks
		}
		if err != nil {
			return nil, "", err
		}
		text, err = io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
		return text, m.Revision, errors.Join(err, c.Close())
	}
}

// save appends line, or writes the whole file anew where most of it is old.
func (s *scopeLabels) save(ctx context.Context, store backing.Store, scope Scope, line *labelLine, live int) error {
	key := labelFile(scope)
	if s.count == 0 {
		if err := room.MakeOwnDir(ctx, store, key.Dir()); err != nil {
			return err
		}
	}
	if s.torn || s.count > 4*live+64 {
		return s.rewrite(ctx, store, key, line)
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := store.Append(ctx, key, append(text, '\n')); err != nil {
		return err
	}
	s.count++
	return store.Sync(ctx, key)
}

// rewrite puts the file anew, with line, which is in s.lines. Where other hosts
// write it too what they have added is read first.
func (s *scopeLabels) rewrite(ctx context.Context, store backing.Store, key backing.Key, line *labelLine) error {
	for {
		var at backing.Revision // of nobody else's
		if backing.IsShared(store) {
			text, rev, err := readLabels(ctx, store, key)
			if err != nil {
				return err
			}
			lines, _ := parseLabels(text)
			if lines[line.Key] = line; line.Gone {
				delete(lines, line.Key)
			}
			s.mu.Lock()
			s.lines = lines
			s.mu.Unlock()
			at = rev
		}
		b, count, err := s.encoded()
		if err != nil {
			return err
		}
		_, err = store.Put(ctx, key, b, backing.PutOptions{If: at, Mode: 0o600})
		if errors.Is(err, backing.ErrConflict) || errors.Is(err, backing.ErrExists) {
			continue
		}
		if err == nil {
			s.count, s.torn = count, false
		}
		return err
	}
}

// encoded is all lines as a file.
func (s *scopeLabels) encoded() (*bytes.Buffer, int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, line := range s.lines {
		if err := enc.Encode(line); err != nil {
			return nil, 0, err
		}
	}
	return &b, len(s.lines), nil
}
