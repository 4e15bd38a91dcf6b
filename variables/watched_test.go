package variables

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

type watched struct {
	*localdir.Store
	reads atomic.Int64 // contents opened
	full  atomic.Bool  // every put is ENOSPC
	lost  atomic.Int32 // so many puts happen, but nobody can say so
	lives atomic.Int64 // after so many changes nothing works any more, as after a kill; 0 is for ever
}

var errKilled = errors.New("killed")

// die reports whether the process would not live to make this change.
func (w *watched) die() bool {
	if w.lives.Load() == 0 {
		return false
	}
	if w.lives.Add(-1) <= 0 {
		w.lives.Store(1)
		return true
	}
	return false
}

func (w *watched) Append(ctx context.Context, key backing.Key, p []byte) (backing.Meta, error) {
	if w.die() {
		return backing.Meta{}, errKilled
	}
	return w.Store.Append(ctx, key, p)
}

func (w *watched) Remove(ctx context.Context, key backing.Key, rev backing.Revision) error {
	if w.die() {
		return errKilled
	}
	return w.Store.Remove(ctx, key, rev)
}

func (w *watched) Rename(ctx context.Context, from, to backing.Key, flags uint) error {
	if w.die() {
		return errKilled
	}
	return w.Store.Rename(ctx, from, to, flags)
}

func (w *watched) MakeDir(ctx context.Context, key backing.Key, mode fs.FileMode) (backing.Meta, error) {
	if w.die() {
		return backing.Meta{}, errKilled
	}
	return w.Store.MakeDir(ctx, key, mode)
}

func (w *watched) Open(ctx context.Context, key backing.Key, rev backing.Revision) (backing.Content, error) {
	if key.Under(roomDir) || key.Under(spillDir) {
		w.reads.Add(1)
	}
	return w.Store.Open(ctx, key, rev)
}
