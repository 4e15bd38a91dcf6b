package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ctxfs/entries"
)

// open opens the file for writing. x.mu is held.
func (x *Index) open(ctx context.Context) error {
	db, fresh, err := openWriter(ctx, x.path)
	if err != nil {
		return err
	}
	if fresh {
		err = x.Reader.reset()
	}
	if err == nil {
		x.opened, err = os.Stat(x.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("open the index: %w", err), db.Close())
	}
	if x.w, err = newWriter(ctx, db, x.src); err != nil {
		return errors.Join(fmt.Errorf("open the index: %w", err), db.Close())
	}
	x.noted = fresh
	return nil
}

func (x *Index) shut() error {
	if x.w == nil {
		return nil
	}
	err := x.w.close()
	x.w = nil
	return err
}

// write runs do in a transaction. It is not interrupted: the end of the index
// is looked for between two entries. x.mu is held.
func (x *Index) write(do func(context.Context) error) error {
	ctx := context.WithoutCancel(x.ctx)
	if err := x.present(ctx); err != nil {
		return err
	}
	if !x.noted {
		if err := mark(x.path); err != nil {
			return err
		}
		x.noted = true
	}
	err := x.w.transaction(ctx, func() error { return do(ctx) })
	if err == nil {
		x.err = nil
	}
	return damaged(err)
}

// present sees that the file is still the one that is open. x.mu is held.
func (x *Index) present(ctx context.Context) error {
	if x.w == nil {
		return x.open(ctx)
	}
	now, err := os.Stat(x.path)
	if err == nil && os.SameFile(now, x.opened) {
		return nil
	}
	return errors.Join(errDamaged, err)
}

// again: after a failed write everything is compared once more, at once with
// a new file where the old one is damaged. x.mu is held.
func (x *Index) again(err error) {
	if x.ctx.Err() != nil {
		return
	}
	x.log.Error("the index could not be written", "path", x.path, "err", err)
	x.err = err
	if errors.Is(err, errDamaged) {
		x.log.Warn("the index is made anew", "path", x.path)
		x.err = errors.Join(x.shut(), x.Reader.reset(), removeFile(x.path))
		if x.err == nil {
			x.err = x.open(context.WithoutCancel(x.ctx))
		}
	}
	x.backlog, x.todo, x.begun = nil, map[string]bool{}, false
	x.busy()
	after := retryAfter
	if x.err == nil {
		after = 0
	}
	x.work.Go(func() {
		select {
		case <-x.ctx.Done():
		case <-time.After(after):
			x.changed([]entries.Change{{Path: "", Deep: true}})
		}
	})
}

// Search is [Reader.Search], after the index has followed what was committed
// before. A file that proves damaged is made anew: once it is there again, the
// search goes on with what it holds by then.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	x.settle(ctx)
	hits, err := x.Reader.Search(ctx, q)
	if !IsDamaged(err) {
		return hits, err
	}
	x.log.Warn("a search found the index damaged", "err", err)
	x.mu.Lock()
	if x.err == nil {
		x.again(err)
	}
	x.mu.Unlock()
	x.settle(ctx)
	return x.Reader.Search(ctx, q)
}
