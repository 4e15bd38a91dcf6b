package joined

import (
	"context"
	"errors"
	"fmt"

	"ctxfs/backing"
)

// Side says which of the two stores a key belongs to.
type Side int

const (
	// Shared: the object or directory is that of all hosts.
	Shared Side = iota
	// Local: it is this host's, and so is all below it.
	Local
	// LocalFile: a file is this host's, a directory that of all.
	LocalFile
)

// LocalStore is the store of this host, with ordinary files.
type LocalStore interface {
	backing.Store
	backing.Files
}

// Store is two stores that look like one. Safe for concurrent use.
type Store struct {
	shared backing.Store
	local  LocalStore
	side   func(backing.Key) Side
}

var (
	_ LocalStore        = (*Store)(nil)
	_ backing.Shared    = (*Store)(nil)
	_ backing.Versioned = (*Store)(nil)
	_ backing.Cached    = (*Store)(nil)
)

// New joins shared and local, which it closes with itself. side must be a
// function of the key alone, and Local for what lies below a Local key.
func New(shared backing.Store, local LocalStore, side func(backing.Key) Side) *Store {
	return &Store{shared: shared, local: local, side: side}
}

// sideOf is the side that key is at, or would be made at; found says that a
// file is known to be at the local one.
func (s *Store) sideOf(ctx context.Context, key backing.Key) (local, found bool, err error) {
	switch s.side(key) {
	case Shared:
		return false, false, nil
	case Local:
		return true, false, nil
	}
	m, err := s.local.Stat(ctx, key)
	if err == nil && !m.Dir {
		return true, true, nil
	}
	if err != nil && !absent(err) {
		return false, false, err
	}
	// Other hosts put nothing there, but for a copy of a whole store.
	_, err = backing.StatCached(ctx, s.shared, key)
	if absent(err) {
		return true, false, nil
	}
	return false, false, err
}

// absent reports that there is nothing at a key. A local file may stand where
// the shared store has a directory of the way there, so this is no error yet.
func absent(err error) bool {
	return errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir)
}

// at returns the store that has key.
func (s *Store) at(ctx context.Context, key backing.Key) (backing.Store, error) {
	local, _, err := s.sideOf(ctx, key)
	if err != nil || !local {
		return s.shared, err
	}
	return s.local, nil
}

// atToWrite is at for who may make an object at key.
func (s *Store) atToWrite(ctx context.Context, key backing.Key) (st backing.Store, local bool, err error) {
	local, found, err := s.sideOf(ctx, key)
	if err != nil || !local {
		return s.shared, false, err
	}
	if !found && s.side(key) == LocalFile {
		err = s.mirror(ctx, key.Dir())
	}
	return s.local, true, err
}

// mirror makes a directory of the shared store in the local one.
func (s *Store) mirror(ctx context.Context, dir backing.Key) error {
	if dir == "" || dir.Under(backing.Own) { // which stores make themselves
		return nil
	}
	m, err := s.Stat(ctx, dir)
	if err == nil && !m.Dir {
		err = fmt.Errorf("%s: %w", dir, backing.ErrNotDir)
	}
	if err != nil {
		return err
	}
	if err := s.makeLocal(ctx, dir); err != nil {
		return err
	}
	// It is watched from when it was listed.
	_, err = s.local.List(ctx, dir, "", 1)
	return err
}

func (s *Store) makeLocal(ctx context.Context, dir backing.Key) error {
	_, err := s.local.MakeDir(ctx, dir, 0o700)
	if errors.Is(err, backing.ErrNotFound) {
		if err = s.makeLocal(ctx, dir.Dir()); err == nil {
			_, err = s.local.MakeDir(ctx, dir, 0o700)
		}
	}
	if errors.Is(err, backing.ErrExists) {
		return nil
	}
	return err
}

// Stat implements [backing.Store].
func (s *Store) Stat(ctx context.Context, key backing.Key) (backing.Meta, error) {
	return s.stat(ctx, key, s.shared.Stat)
}

// StatCached implements [backing.Cached].
func (s *Store) StatCached(ctx context.Context, key backing.Key) (backing.Meta, error) {
	return s.stat(ctx, key, func(ctx context.Context, key backing.Key) (backing.Meta, error) {
		return backing.StatCached(ctx, s.shared, key)
	})
}

func (s *Store) stat(ctx context.Context, key backing.Key, shared func(context.Context, backing.Key) (backing.Meta, error)) (backing.Meta, error) {
	switch s.side(key) {
	case Shared:
		return shared(ctx, key)
	case Local:
		return s.local.Stat(ctx, key)
	}
	m, err := s.local.Stat(ctx, key)
	if err == nil && !m.Dir || err != nil && !absent(err) {
		return m, err
	}
	return shared(ctx, key)
}

// Open implements [backing.Store].
func (s *Store) Open(ctx context.Context, key backing.Key, rev backing.Revision) (backing.Content, error) {
	st, err := s.at(ctx, key)
	if err != nil {
		return nil, err
	}
	return st.Open(ctx, key, rev)
}

// Shared implements [backing.Shared].
func (s *Store) Shared() {}

// ReadOnly implements [backing.Store].
func (s *Store) ReadOnly() bool { return s.shared.ReadOnly() }

// Close implements [backing.Store].
func (s *Store) Close() error { return errors.Join(s.shared.Close(), s.local.Close()) }
