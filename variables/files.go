package variables

import (
	"context"
	"errors"
	"fmt"

	"ctxfs/backing"
)

// state describes n: in memory, a file, or a new one that is being written.
// ErrNotFound.
func (v *Variables) state(ctx context.Context, n name) (state, error) {
	if n.scope.session() {
		if s, ok := v.memory.state(n); ok {
			return v.grown(ctx, s)
		}
	}
	s, err := v.fileState(ctx, n)
	if errors.Is(err, backing.ErrNotFound) {
		if p, ok := v.drafts.pending(n); ok {
			return p, nil
		}
	}
	return s, err
}

// grown fills in how far a session's stream has grown.
func (v *Variables) grown(ctx context.Context, s state) (state, error) {
	if s.typ != Stream || s.cell == nil {
		return s, nil
	}
	disk := v.memory.where(s.cell)
	m, err := v.store.Stat(ctx, disk)
	if err != nil {
		return s, fmt.Errorf("stream %s: %w", s.name.path(), err)
	}
	s.size, s.modTime, s.rev = m.Size, m.ModTime, m.Revision
	return s, nil
}

func (m *memory) where(c *cell) backing.Key {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return c.disk
}

// fileState describes n as a file; ErrNotFound also for what is no file.
func (v *Variables) fileState(ctx context.Context, n name) (state, error) {
	gen, at := v.known.begin()
	m, err := v.store.Stat(ctx, n.file())
	if err == nil && !regular(m) || errors.Is(err, backing.ErrNotDir) {
		err = backing.ErrNotFound
	}
	if err != nil {
		return state{}, fmt.Errorf("variable %s: %w", n.path(), err)
	}
	s, err := v.described(ctx, n, m)
	if err == nil {
		v.known.put(s, gen, at)
	}
	return s, err
}

func regular(m backing.Meta) bool { return !m.Dir && !m.Link && !m.Special }

// described adds the type to what the store says of a file.
func (v *Variables) described(ctx context.Context, n name, m backing.Meta) (state, error) {
	s := state{name: n, size: m.Size, modTime: m.ModTime, created: m.ModTime, mode: m.Mode, uid: m.UID, gid: m.GID,
		rev: m.Revision, typ: typeOfKey(n.key)}
	lab, said, err := v.labels.get(ctx, n, m.Revision)
	if err != nil {
		return state{}, err
	}
	if said {
		s.typ, s.said = lab.Type, true
	}
	if s.typ == Stream && lab.Stream != "" {
		s.created, s.id = lab.Created, valueID(n, lab.Stream)
	} else {
		s.id = valueID(n, string(m.Revision))
	}
	return s, nil
}

// eachFile calls f for the files of scope with names greater than after, in
// order, until f says false.
func (v *Variables) eachFile(ctx context.Context, scope Scope, after string, f func(backing.Meta) bool) error {
	for {
		page, err := v.store.List(ctx, scopeDir(scope), after, listPage)
		if err != nil {
			return err
		}
		for _, m := range page {
			if regular(m) && CheckKey(m.Key.Name()) == nil && !f(m) {
				return nil
			}
		}
		if len(page) < listPage {
			return nil
		}
		after = page[len(page)-1].Key.Name()
	}
}

// fileScopes are the scopes that have a directory in the store.
func (v *Variables) fileScopes(ctx context.Context) ([]Scope, error) {
	var scopes []Scope
	for after := ""; ; {
		page, err := v.store.List(ctx, roomDir, after, listPage)
		if errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			after = m.Key.Name()
			if s, err := ParseScope(after); err == nil && m.Dir {
				scopes = append(scopes, s)
			}
		}
		if len(page) < listPage {
			return scopes, nil
		}
	}
}

// holds reports whether scope has a file.
func (v *Variables) holds(ctx context.Context, scope Scope) (bool, error) {
	found := false
	err := v.eachFile(ctx, scope, "", func(backing.Meta) bool {
		found = true
		return false
	})
	if errors.Is(err, backing.ErrNotFound) {
		err = nil
	}
	return found, err
}

// open returns the content of n at revision rev, or the current one.
func (v *Variables) open(ctx context.Context, n name, rev backing.Revision) (backing.Content, error) {
	if n.scope.session() {
		if s, ok := v.memory.state(n); ok {
			if s.typ == Stream {
				return v.store.Open(ctx, v.memory.where(s.cell), rev)
			}
			return v.openCell(ctx, n, rev)
		}
	}
	if p, ok := v.drafts.pending(n); ok && rev == p.rev {
		return newBytes(nil), nil
	}
	c, err := v.store.Open(ctx, n.file(), rev)
	if errors.Is(err, backing.ErrNotDir) {
		err = backing.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("variable %s: %w", n.path(), err)
	}
	return c, nil
}

// makeScope makes the directory of scope.
func (v *Variables) makeScope(ctx context.Context, scope Scope) error {
	for _, dir := range []backing.Key{roomDir, scopeDir(scope)} {
		if _, err := v.store.MakeDir(ctx, dir, 0o755); err != nil && !errors.Is(err, backing.ErrExists) {
			return fmt.Errorf("make %s: %w", dir, err)
		}
	}
	return nil
}
