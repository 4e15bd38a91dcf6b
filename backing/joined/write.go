package joined

import (
	"context"
	"io"

	"ctxfs/backing"
)

// Put implements [backing.Store].
func (s *Store) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	st, local, err := s.atToWrite(ctx, key)
	if err != nil {
		return backing.Meta{}, err
	}
	put := func(r io.Reader) (backing.Meta, error) { return st.Put(ctx, key, r, o) }
	if up, ok := r.(*upload); ok {
		return up.put(local, put)
	}
	return put(r)
}

// Append implements [backing.Store].
func (s *Store) Append(ctx context.Context, key backing.Key, data []byte) (backing.Meta, error) {
	st, _, err := s.atToWrite(ctx, key)
	if err != nil {
		return backing.Meta{}, err
	}
	return st.Append(ctx, key, data)
}

// Sync implements [backing.Store].
func (s *Store) Sync(ctx context.Context, key backing.Key) error {
	st, err := s.at(ctx, key)
	if err != nil {
		return err
	}
	return st.Sync(ctx, key)
}

// SetAttr implements [backing.Store].
func (s *Store) SetAttr(ctx context.Context, key backing.Key, c backing.AttrChange) (backing.Meta, error) {
	st, err := s.at(ctx, key)
	if err != nil {
		return backing.Meta{}, err
	}
	return st.SetAttr(ctx, key, c)
}

// Remove implements [backing.Store].
func (s *Store) Remove(ctx context.Context, key backing.Key, rev backing.Revision) error {
	st, err := s.at(ctx, key)
	if err != nil {
		return err
	}
	return st.Remove(ctx, key, rev)
}
