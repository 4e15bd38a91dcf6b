package memories

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ctxfs/backing"
)

// DefaultLease is [Options].Lease where nothing is said.
const DefaultLease = 10 * time.Second

// errLost is that another host delivers a memory now.
var errLost = errors.New("another host has taken over the delivery")

// hold is the right to deliver a memory: its cursor names this host. Another
// host takes it when the cursor has not changed for a lease, as far as it has
// seen, so it is changed more often than that, and when that was not possible
// for the most of a lease nothing is sent any more. No host needs to know the
// time of another one.
type hold struct {
	o   *outbox
	b   *box
	key backing.Key // of the cursor
	ctx context.Context
	// lose ends ctx, with which everything is done that needs the hold.
	lose   context.CancelFunc
	expiry *time.Timer
	work   sync.WaitGroup
	began  time.Time
	tired  atomic.Bool // it was given up, because another host may do better

	mu  sync.Mutex // guards what follows; held while the cursor is put
	c   cursor
	rev backing.Revision
}

// take makes the cursor that v found this host's; errLost where it has been
// changed since.
func (o *outbox) take(b *box, v survey) (*hold, error) {
	h := &hold{o: o, b: b, key: cursorKey(b.memory), c: v.cursor, rev: v.rev}
	h.c.Holder = o.id
	h.ctx, h.lose = context.WithCancel(o.ctx)
	h.began = time.Now()
	rev, err := o.s.putCursor(h.ctx, h.key, h.c, h.rev)
	if errors.Is(err, backing.ErrConflict) {
		err = errLost
	}
	if err != nil {
		h.lose()
		return nil, fmt.Errorf("begin to deliver memory %s: %w", b.memory, err)
	}
	h.rev = rev
	h.expiry = time.AfterFunc(h.left(h.began), h.lose)
	h.work.Go(h.keep)
	return h, nil
}

// left is how long a hold is sure that was renewed by what began at that time.
func (h *hold) left(began time.Time) time.Duration {
	return h.o.s.o.Lease*3/4 - time.Since(began)
}

// keep renews the hold until it ends, and gives it up where nothing works. It
// counts what is added meanwhile, for the status: whoever delivers may be trying
// the same entry for long.
func (h *hold) keep() {
	tick := time.NewTicker(h.o.s.o.Lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
			if h.fails() {
				h.tired.Store(true)
				h.lose()
				return
			}
			if err := h.change(h.ctx, func(*cursor) {}); err != nil && h.ctx.Err() == nil {
				h.o.s.o.Log.Warn("the delivery of a memory may go over to another host", "memory", h.b.memory, "err", err)
			}
		case <-h.b.wake:
		}
		size, err := h.o.s.entriesSize(h.ctx, h.b.memory)
		if err == nil {
			err = h.o.lookAtEntries(h.ctx, h.b, size)
		}
		if err != nil && h.ctx.Err() == nil {
			h.o.s.o.Log.Warn("what waits to be delivered is not counted", "memory", h.b.memory, "err", err)
		}
	}
}

// fails reports whether this host has got nothing delivered for a lease: perhaps
// the backend is out of its reach only.
func (h *hold) fails() bool {
	h.o.mu.Lock()
	defer h.o.mu.Unlock()
	lease := h.o.s.o.Lease
	return !h.b.failing.IsZero() && time.Since(h.b.failing) >= lease && time.Since(h.began) >= lease
}

// advance notes that what is before offset is delivered.
func (h *hold) advance(offset int64) error {
	return h.change(h.ctx, func(c *cursor) { c.Offset = offset })
}

// change changes the cursor, which renews the hold. errLost where it is
// another's; any other error says that it may have happened or not.
func (h *hold) change(ctx context.Context, to func(*cursor)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		began, c := time.Now(), h.c
		to(&c)
		rev, err := h.o.s.putCursor(ctx, h.key, c, h.rev)
		if err == nil {
			h.c, h.rev = c, rev
			if left := h.left(began); h.ctx.Err() == nil && left > 0 {
				h.expiry.Reset(left)
			}
			return nil
		}
		if !errors.Is(err, backing.ErrConflict) {
			return err
		}
		// A change whose end was unknown may have happened.
		if err := h.look(ctx); err != nil {
			return err
		}
	}
}

// look finds out where the cursor is, if it is still this host's.
func (h *hold) look(ctx context.Context) error {
	var c cursor
	m, err := h.o.s.store.Stat(ctx, h.key)
	if err == nil {
		c, err = h.o.s.readCursor(ctx, h.key, m.Revision)
	}
	switch {
	case errors.Is(err, backing.ErrNotFound): // changed just now, and not by this host, or removed
		err = errLost
	case err == nil && c.Holder != h.c.Holder:
		err = errLost
	case err == nil:
		h.c, h.rev = c, m.Revision
	}
	if errors.Is(err, errLost) {
		h.lose()
	}
	return err
}

// end gives the hold up, so that another host needs not wait for it.
func (h *hold) end() {
	h.lose()
	h.work.Wait()
	h.expiry.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), h.o.s.o.Lease)
	defer cancel()
	if err := h.change(ctx, func(c *cursor) { c.Holder = "" }); err != nil && !errors.Is(err, errLost) {
		h.o.s.o.Log.Warn("the next host to deliver a memory has to wait", "memory", h.b.memory, "err", err)
	}
}

// at is how far the memory has been delivered.
func (h *hold) at() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.c.Offset
}
