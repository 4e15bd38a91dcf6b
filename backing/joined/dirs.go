package joined

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"ctxfs/backing"
)

// MakeDir implements [backing.Store].
func (s *Store) MakeDir(ctx context.Context, key backing.Key, mode fs.FileMode) (backing.Meta, error) {
	switch s.side(key) {
	case Local:
		return s.local.MakeDir(ctx, key, mode)
	case LocalFile:
		if m, err := s.local.Stat(ctx, key); err == nil && !m.Dir {
			return backing.Meta{}, fmt.Errorf("make directory %s: %w", key, backing.ErrExists)
		}
	}
	return s.shared.MakeDir(ctx, key, mode)
}

// RemoveDir implements [backing.Store]. A directory in which this host has a
// file is not empty; of what other hosts have in it nobody knows.
func (s *Store) RemoveDir(ctx context.Context, key backing.Key) error {
	local, found, err := s.sideOf(ctx, key)
	switch {
	case err != nil:
		return err
	case local && !found && s.side(key) == LocalFile:
		return fmt.Errorf("remove directory %s: %w", key, backing.ErrNotFound)
	case local:
		return s.local.RemoveDir(ctx, key)
	}
	if err := s.prune(ctx, key); err != nil {
		return err
	}
	return s.shared.RemoveDir(ctx, key)
}

// prune removes dir and the directories below it from the local store; where
// there is a file in them it is not empty.
func (s *Store) prune(ctx context.Context, dir backing.Key) error {
	for {
		page, err := s.local.List(ctx, dir, "", listPage)
		if absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, m := range page {
			if !m.Dir {
				return fmt.Errorf("remove directory %s: this host has %s in it: %w", dir, m.Key, backing.ErrNotEmpty)
			}
			if err := s.prune(ctx, m.Key); err != nil {
				return err
			}
		}
		if len(page) == 0 {
			err := s.local.RemoveDir(ctx, dir)
			if absent(err) {
				return nil
			}
			return err
		}
	}
}

// listPage is how many members are asked of a store at once where the caller
// has no number of his own.
const listPage = 1000

// List implements [backing.Store]: the members of both, in one order.
func (s *Store) List(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	return s.list(ctx, dir, after, limit, s.shared.List)
}

// ListCached implements [backing.Cached].
func (s *Store) ListCached(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	return s.list(ctx, dir, after, limit, func(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
		return backing.ListCached(ctx, s.shared, dir, after, limit)
	})
}

func (s *Store) list(ctx context.Context, dir backing.Key, after string, limit int, shared func(context.Context, backing.Key, string, int) ([]backing.Meta, error)) ([]backing.Meta, error) {
	if s.side(dir) == Local {
		return s.local.List(ctx, dir, after, limit)
	}
	all, err := shared(ctx, dir, after, limit)
	if errors.Is(err, backing.ErrNotFound) {
		if m, lerr := s.Stat(ctx, dir); lerr == nil && !m.Dir {
			err = backing.ErrNotDir
		}
	}
	if err != nil {
		return nil, err
	}
	own, err := s.localFiles(ctx, dir, after, limit)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		return all, nil
	}
	all = append(own, all...)
	// A local file is before what the shared store has under its name.
	slices.SortStableFunc(all, func(a, b backing.Meta) int { return cmp.Compare(a.Key, b.Key) })
	all = slices.CompactFunc(all, func(a, b backing.Meta) bool { return a.Key == b.Key })
	return all[:min(len(all), limit)], nil
}

// localFiles is List of what dir has at the local side.
func (s *Store) localFiles(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	var own []backing.Meta
	for {
		page, err := s.local.List(ctx, dir, after, limit)
		if absent(err) {
			return own, nil
		}
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			after = m.Key.Name()
			if side := s.side(m.Key); side == Local || side == LocalFile && !m.Dir {
				own = append(own, m)
			}
		}
		if len(page) < limit || len(own) >= limit {
			return own[:min(len(own), limit)], nil
		}
	}
}
