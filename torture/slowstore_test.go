package torture

import (
	"context"
	"io"
	"io/fs"
	"sync"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

// slowStore is a store of which one operation waits until the test lets it go.
// All else that a store can do it does as the one below.
type slowStore struct {
	*localdir.Store

	mu   sync.Mutex // guards gate
	gate *gate
}

// gate stands before an operation on the keys under one.
type gate struct {
	op      string
	under   backing.Key
	once    sync.Once
	reached chan struct{} // closed when somebody waits
	open    chan struct{} // closed to let all go
}

func (s *slowStore) shut(op string, under backing.Key) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = &gate{op: op, under: under, reached: make(chan struct{}), open: make(chan struct{})}
	return s.gate
}

func (s *slowStore) pass(op string, key backing.Key) {
	s.mu.Lock()
	g := s.gate
	s.mu.Unlock()
	if g == nil || g.op != op || !key.Under(g.under) {
		return
	}
	g.once.Do(func() { close(g.reached) })
	<-g.open
}

func (s *slowStore) Stat(ctx context.Context, key backing.Key) (backing.Meta, error) {
	s.pass("stat", key)
	return s.Store.Stat(ctx, key)
}

func (s *slowStore) List(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	s.pass("list", dir)
	return s.Store.List(ctx, dir, after, limit)
}

func (s *slowStore) Open(ctx context.Context, key backing.Key, rev backing.Revision) (backing.Content, error) {
	s.pass("open", key)
	return s.Store.Open(ctx, key, rev)
}

func (s *slowStore) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	s.pass("put", key)
	return s.Store.Put(ctx, key, r, o)
}

func (s *slowStore) Append(ctx context.Context, key backing.Key, data []byte) (backing.Meta, error) {
	s.pass("append", key)
	return s.Store.Append(ctx, key, data)
}

func (s *slowStore) Sync(ctx context.Context, key backing.Key) error {
	s.pass("sync", key)
	return s.Store.Sync(ctx, key)
}

func (s *slowStore) Remove(ctx context.Context, key backing.Key, rev backing.Revision) error {
	s.pass("remove", key)
	return s.Store.Remove(ctx, key, rev)
}

func (s *slowStore) MakeDir(ctx context.Context, key backing.Key, mode fs.FileMode) (backing.Meta, error) {
	s.pass("mkdir", key)
	return s.Store.MakeDir(ctx, key, mode)
}

func (s *slowStore) Versions(ctx context.Context, key backing.Key) ([]backing.Version, error) {
	s.pass("versions", key)
	return s.Store.Versions(ctx, key)
}

func (s *slowStore) Rename(ctx context.Context, from, to backing.Key, flags uint) error {
	s.pass("rename", from)
	return s.Store.Rename(ctx, from, to, flags)
}
