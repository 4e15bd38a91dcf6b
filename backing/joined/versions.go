package joined

import (
	"context"
	"fmt"
	"io"

	"ctxfs/backing"
)

// Versions implements [backing.Store].
func (s *Store) Versions(ctx context.Context, key backing.Key) ([]backing.Version, error) {
	st, err := s.at(ctx, key)
	if err != nil {
		return nil, err
	}
	return st.Versions(ctx, key)
}

// StatVersion implements [backing.Store].
func (s *Store) StatVersion(ctx context.Context, key backing.Key, n int) (backing.Version, error) {
	st, err := s.at(ctx, key)
	if err != nil {
		return backing.Version{}, err
	}
	return st.StatVersion(ctx, key, n)
}

// OpenVersion implements [backing.Store].
func (s *Store) OpenVersion(ctx context.Context, key backing.Key, n int) (backing.Content, error) {
	st, err := s.at(ctx, key)
	if err != nil {
		return nil, err
	}
	return st.OpenVersion(ctx, key, n)
}

// RestoreVersion implements [backing.Store].
func (s *Store) RestoreVersion(ctx context.Context, key backing.Key, v backing.Version, r io.Reader) error {
	st, _, err := s.atToWrite(ctx, key)
	if err != nil {
		return err
	}
	return st.RestoreVersion(ctx, key, v, r)
}

// Versioned implements [backing.Versioned].
func (s *Store) Versioned(ctx context.Context, f func(backing.Key) error) error {
	for _, side := range []backing.Store{s.shared, s.local} {
		v, ok := side.(backing.Versioned)
		if !ok {
			return fmt.Errorf("%T does not say what it keeps versions of", side)
		}
		err := v.Versioned(ctx, func(key backing.Key) error {
			if at, err := s.at(ctx, key); err != nil || at != side {
				return err
			}
			return f(key)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Discard implements [backing.Store]: what is local goes first, so that the
// directories are empty when their turn comes.
func (s *Store) Discard(ctx context.Context, list []backing.Removal) []error {
	errs := make([]error, len(list))
	var local, shared batch
	for i, r := range list {
		here, _, err := s.sideOf(ctx, r.Key)
		switch {
		case err != nil:
			errs[i] = err
		case here:
			local.add(i, r)
		default:
			shared.add(i, r)
		}
	}
	local.discard(ctx, s.local, errs)
	var rest batch
	for n, r := range shared.list {
		if r.Dir {
			if err := s.prune(ctx, r.Key); err != nil {
				errs[shared.at[n]] = err
				continue
			}
		}
		rest.add(shared.at[n], r)
	}
	rest.discard(ctx, s.shared, errs)
	return errs
}

// batch is a part of a list of removals, and where in the list each stands.
type batch struct {
	list []backing.Removal
	at   []int
}

func (b *batch) add(i int, r backing.Removal) {
	b.list, b.at = append(b.list, r), append(b.at, i)
}

func (b *batch) discard(ctx context.Context, st backing.Store, errs []error) {
	if len(b.list) == 0 {
		return
	}
	for n, err := range st.Discard(ctx, b.list) {
		errs[b.at[n]] = err
	}
}
