package memories

import (
	"context"
	"errors"
	"time"

	"ctxfs/backing"
)

// deliver sends one memory's parcels until none is left or the outbox closes.
func (o *outbox) deliver(b *box) {
	for {
		err := o.parcels(o.ctx, b)
		o.mu.Lock()
		if err != nil || len(b.parcels) == 0 || o.ending {
			b.busy = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
	}
}

// parcels delivers what is in b until nothing is left. It fails only when ctx
// ends.
func (o *outbox) parcels(ctx context.Context, b *box) error {
	for {
		o.mu.Lock()
		if len(b.parcels) == 0 {
			o.mu.Unlock()
			return nil
		}
		p := b.parcels[0]
		o.mu.Unlock()
		if err := o.parcel(ctx, b, p); err != nil {
			return err
		}
		o.mu.Lock()
		b.parcels = b.parcels[1:]
		o.mu.Unlock()
		o.tell()
	}
}

// tell wakes who waits for something to be delivered.
func (o *outbox) tell() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.moved)
	o.moved = make(chan struct{})
}

// parcel delivers p, whatever it takes, and removes it. It fails only when
// ctx ends.
func (o *outbox) parcel(ctx context.Context, b *box, p parcel) error {
	var lines [][]byte
	err := o.persist(ctx, b, func() error {
		text, err := o.s.readAll(ctx, p.key)
		lines = linesOf(text)
		if errors.Is(err, backing.ErrNotFound) {
			o.s.o.Log.Warn("an outbox file has been removed by somebody else", "path", p.key)
			return nil
		}
		return err
	})
	for i := 0; i < len(lines) && err == nil; i++ {
		err = o.line(ctx, b, lines[i])
		if err == nil {
			o.progress(b, p, len(lines)-i-1)
		}
	}
	if err != nil {
		return err
	}
	return o.persist(ctx, b, func() error {
		err := o.s.store.Remove(ctx, p.key, "")
		if errors.Is(err, backing.ErrNotFound) {
			return nil
		}
		return err
	})
}

// progress notes what is left of the parcel under way.
func (o *outbox) progress(b *box, p parcel, left int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(b.parcels) > 0 && b.parcels[0].key == p.key {
		b.parcels[0].lines = left
	}
}

// line delivers one entry, or parks it where the backend refuses it.
func (o *outbox) line(ctx context.Context, b *box, line []byte) error {
	var refused *refusedError
	body, key, err := requestBody(b.memory, line)
	if err != nil {
		refused = &refusedError{Reason: "the outbox holds a line that is none of ours: " + err.Error()}
	} else {
		err = o.persist(ctx, b, func() error {
			err := o.post(ctx, b.memory, key, body)
			if errors.As(err, &refused) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if refused == nil {
		o.mu.Lock()
		b.status.Delivered++
		o.mu.Unlock()
		return nil
	}
	o.s.o.Log.Error("the backend refused an entry, which is parked", "memory", b.memory, "key", key, "reason", refused.Reason)
	return o.persist(ctx, b, func() error { return o.park(ctx, b, key, refused, line) })
}

// persist calls f until it succeeds, waiting longer each time, and tells the
// status about it. It fails only when ctx ends.
func (o *outbox) persist(ctx context.Context, b *box, f func() error) error {
	o.mu.Lock()
	attempt := b.status.Attempts // of an earlier turn
	o.mu.Unlock()
	for {
		attempt++
		if err := ctx.Err(); err != nil {
			return err
		}
		err := f()
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		o.note(b, attempt, err)
		if err == nil {
			return nil
		}
		o.s.o.Log.Warn("an entry is not delivered yet", "memory", b.memory, "attempt", attempt, "err", err)
		if err := o.pause(ctx, attempt, err); err != nil {
			return err
		}
	}
}

// pause waits as long as the backoff says, or as the backend asked for.
func (o *outbox) pause(ctx context.Context, attempt int, err error) error {
	d := o.s.o.BackendRetry.after(attempt)
	var busy *busyError
	if errors.As(err, &busy) {
		d = min(max(d, busy.After), o.s.o.BackendRetry.Max)
	}
	return o.s.o.BackendRetry.Sleep(ctx, d)
}

func (o *outbox) note(b *box, attempt int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		b.status.Attempts, b.status.LastError, b.status.Since = 0, "", nil
		b.failing = time.Time{}
		return
	}
	if b.failing.IsZero() {
		b.failing = time.Now()
	}
	b.status.Attempts, b.status.LastError = attempt, err.Error()
	if b.status.Since == nil {
		now := o.s.o.Now().UTC().Truncate(time.Millisecond)
		b.status.Since = &now
	}
}
