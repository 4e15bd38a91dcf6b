package variables

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

// label is what a variable's file cannot carry.
type label struct {
	Type    Type      `json:"type,omitempty"`
	Stream  string    `json:"stream,omitempty"` // names the value of a stream while it grows
	Created time.Time `json:"created,omitzero"` // of a stream
}

// labelLine is one change of a label, a line of .ctxfs/vars/<scope>.jsonl.
type labelLine struct {
	Key string `json:"key"`
	label
	// Rev is the content that this change replaces; while that is still
	// current, Was holds and not the label.
	Rev backing.Revision `json:"rev,omitempty"`
	Was *label           `json:"was,omitempty"`
	// Gone ends the label.
	Gone bool `json:"gone,omitempty"`
}

// at returns the label for content at revision rev.
func (l *labelLine) at(rev backing.Revision) label {
	if l.Was != nil && rev == l.Rev {
		return *l.Was
	}
	return l.label
}

// labels are the labels of all scopes, read when a scope is first asked for.
// Nobody else writes them while the store is ours.
type labels struct {
	store backing.Store

	mu     sync.Mutex // guards scopes
	scopes map[Scope]*scopeLabels
}

type scopeLabels struct {
	write  sync.Mutex // serialises load and change; held across calls to the store
	loaded bool

	mu    sync.RWMutex // guards lines; taken after write
	lines map[string]*labelLine
	count int // lines in the file; guarded by write
	torn  bool
}

func newLabels(store backing.Store) *labels {
	return &labels{store: store, scopes: map[Scope]*scopeLabels{}}
}

// labelEnd ends the names of the files of labels.
const labelEnd = ".jsonl"

func labelFile(s Scope) backing.Key {
	return backing.Own + "/" + roomDir + "/" + backing.Key(s) + labelEnd
}

// of returns the labels of scope, loaded.
func (l *labels) of(ctx context.Context, scope Scope) (*scopeLabels, error) {
	l.mu.Lock()
	s := l.scopes[scope]
	if s == nil {
		s = &scopeLabels{lines: map[string]*labelLine{}}
		l.scopes[scope] = s
	}
	l.mu.Unlock()
	s.mu.RLock()
	loaded := s.loaded
	s.mu.RUnlock()
	if loaded {
		return s, nil
	}
	s.write.Lock()
	defer s.write.Unlock()
	if s.loaded {
		return s, nil
	}
	if err := s.load(ctx, l.store, scope); err != nil {
		return nil, fmt.Errorf("read the types of %s: %w", scope, err)
	}
	return s, nil
}

// load reads the file, and drops what has no variable.
func (s *scopeLabels) load(ctx context.Context, store backing.Store, scope Scope) error {
	c, err := store.Open(ctx, labelFile(scope), "")
	var text []byte
	if err == nil {
		defer c.Close()
		text, err = io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	}
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return err
	}
	lines := map[string]*labelLine{}
	for line := range bytes.Lines(text) {
		s.count++
		var l labelLine
		if json.Unmarshal(line, &l) != nil || l.Key == "" {
			continue // half a line: the change that it was for did not happen
		}
		if lines[l.Key] = &l; l.Gone {
			delete(lines, l.Key)
		}
	}
	for key := range lines {
		if _, err := store.Stat(ctx, scopeDir(scope).Join(key)); errors.Is(err, backing.ErrNotFound) {
			delete(lines, key)
		} else if err != nil {
			return err
		}
	}
	s.torn = len(text) > 0 && text[len(text)-1] != '\n'
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines, s.loaded = lines, true
	return nil
}

// get returns the label of key for content at rev; ok is false for none.
func (l *labels) get(ctx context.Context, n name, rev backing.Revision) (lab label, ok bool, err error) {
	s, err := l.of(ctx, n.scope)
	if err != nil {
		return label{}, false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	line := s.lines[n.key]
	if line == nil {
		return label{}, false, nil
	}
	lab = line.at(rev)
	return lab, lab.Type != "", nil
}

// set changes the label of n, durably: new from now on, but what it was while
// the content is still at rev.
func (l *labels) set(ctx context.Context, n name, lab label, rev backing.Revision) error {
	s, err := l.of(ctx, n.scope)
	if err != nil {
		return err
	}
	s.write.Lock()
	defer s.write.Unlock()
	line := &labelLine{Key: n.key, label: lab}
	if rev != "" {
		s.mu.RLock()
		line.Rev, line.Was = rev, &label{}
		if old := s.lines[n.key]; old != nil {
			was := old.at(rev)
			line.Was = &was
		}
		s.mu.RUnlock()
	}
	return s.change(ctx, l.store, n, line)
}

// drop ends the label of n, if it has one.
func (l *labels) drop(ctx context.Context, n name) error {
	s, err := l.of(ctx, n.scope)
	if err != nil {
		return err
	}
	s.write.Lock()
	defer s.write.Unlock()
	s.mu.RLock()
	has := s.lines[n.key] != nil
	s.mu.RUnlock()
	if !has {
		return nil
	}
	return s.change(ctx, l.store, n, &labelLine{Key: n.key, Gone: true})
}

func (s *scopeLabels) change(ctx context.Context, store backing.Store, n name, line *labelLine) error {
	s.mu.Lock()
	old := s.lines[n.key]
	if s.lines[n.key] = line; line.Gone {
		delete(s.lines, n.key)
	}
	live := len(s.lines)
	s.mu.Unlock()
	err := s.save(ctx, store, n.scope, line, live)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.lines[n.key] = old; old == nil {
			delete(s.lines, n.key)
		}
		s.torn = true // nobody knows how much of the line is there
		return fmt.Errorf("note the type of %s: %w", n.path(), err)
	}
	return nil
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
		return s.rewrite(ctx, store, key)
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

func (s *scopeLabels) rewrite(ctx context.Context, store backing.Store, key backing.Key) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	s.mu.RLock()
	count := len(s.lines)
	for _, line := range s.lines {
		if err := enc.Encode(line); err != nil {
			s.mu.RUnlock()
			return err
		}
	}
	s.mu.RUnlock()
	if _, err := store.Put(ctx, key, &b, backing.PutOptions{Mode: 0o600}); err != nil {
		return err
	}
	s.count, s.torn = count, false
	return nil
}
