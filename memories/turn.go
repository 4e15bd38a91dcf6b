package memories

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// touch has a memory of a store of several hosts looked at after a while, and
// delivered if that is this host's to do, until nothing of it is left. mine
// says that it is at once this host's where it is nobody's; else it is when
// nobody else has begun for a lease.
func (o *outbox) touch(memory string, mine bool, after time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.box(memory)
	b.touched, b.mine = true, b.mine || mine
	switch {
	case o.ending:
	case !b.busy:
		b.busy = true
		o.serving++
		o.work.Go(func() { o.serve(b, after) })
	case after == 0:
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// lookEvery is the time between two looks on average, where many memories have
// something to be delivered: the database has other things to do.
const lookEvery = 10 * time.Millisecond

// poll is the time between two looks at a memory that another host delivers,
// or is to.
func (o *outbox) poll() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.s.o.Lease/4, time.Duration(o.serving)*lookEvery)
}

// serve looks after b until nothing of it is left or the outbox closes.
func (o *outbox) serve(b *box, wait time.Duration) {
	for failed := 0; ; wait = o.poll() {
		select {
		case <-o.ctx.Done():
			return
		case <-b.wake:
		case <-time.After(wait):
		}
		o.mu.Lock()
		b.touched = false
		o.mu.Unlock()
		done, err := o.turn(b)
		if o.ctx.Err() != nil {
			return
		}
		if err != nil {
			failed++
			o.s.o.Log.Warn("entries are not delivered yet", "memory", b.memory, "attempt", failed, "err", err)
		} else {
			failed = 0
		}
		if err != nil || done {
			o.note(b, failed, err)
		}
		if err != nil && o.pause(o.ctx, failed, err) != nil {
			return
		}
		if done && o.rest(b) {
			return
		}
	}
}

// rest ends the service of b where nobody has touched it since the last look.
func (o *outbox) rest(b *box) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !b.touched {
		b.busy, b.mine = false, false
		o.serving--
	}
	return !b.touched
}

// turn delivers what there is of b, if that is this host's to do. done says
// that nothing is left.
func (o *outbox) turn(b *box) (done bool, err error) {
	for {
		v, waits, err := o.look(o.ctx, b)
		if err != nil || !waits {
			return err == nil, err
		}
		if !o.due(b, v) {
			return false, nil
		}
		if err := o.admit(b); err != nil {
			return false, err
		}
		err = o.hold(b, v)
		<-o.turns
		if err != nil && !errors.Is(err, errLost) {
			return false, err
		}
	}
}

// admit waits for one of the turns, and counts meanwhile what is added.
func (o *outbox) admit(b *box) error {
	select {
	case o.turns <- struct{}{}:
		return nil
	default:
	}
	admitted := make(chan error, 1)
	o.work.Go(func() {
		select {
		case o.turns <- struct{}{}:
			admitted <- nil
		case <-o.ctx.Done():
			admitted <- o.ctx.Err()
		}
	})
	for {
		select {
		case err := <-admitted:
			return err
		case <-b.wake:
			if _, _, err := o.look(o.ctx, b); err != nil && o.ctx.Err() == nil {
				o.s.o.Log.Warn("what waits to be delivered is not counted", "memory", b.memory, "err", err)
			}
		}
	}
}

// hold takes b, which looks as v says, and delivers it; errLost where another
// host was faster, or has gone on.
func (o *outbox) hold(b *box, v survey) error {
	h, err := o.take(b, v)
	if err != nil {
		return err
	}
	// Whoever adds meanwhile leaves it to this host, which looks once more after
	// the end for what came while it seemed to deliver.
	o.mu.Lock()
	b.mine = true
	o.mu.Unlock()
	err = o.drain(h, b)
	h.end()
	if h.tired.Load() {
		b.yields = time.Now().Add(2 * o.s.o.Lease)
	}
	return err
}

// due reports whether this host may take b, which looks as v says.
func (o *outbox) due(b *box, v survey) bool {
	if v.rev != b.seen {
		b.seen, b.seenAt = v.rev, time.Now()
	}
	if time.Now().Before(b.yields) {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return v.cursor.Holder == o.id || // a take whose end was unknown
		v.cursor.Holder == "" && b.mine ||
		time.Since(b.seenAt) >= o.s.o.Lease
}

// drain delivers all that waits, one entry after the other; errLost where the
// hold has ended before.
func (o *outbox) drain(h *hold, b *box) error {
	for {
		err := o.parcels(h.ctx, b)
		if err == nil {
			err = o.lines(h, b)
		}
		var v survey
		waits := false
		if err == nil {
			v, waits, err = o.look(h.ctx, b)
		}
		if h.ctx.Err() != nil {
			return fmt.Errorf("%w: %w", errLost, h.ctx.Err())
		}
		if err != nil || !waits {
			return err
		}
		if v.cursor.Offset != h.at() { // the store is another one, or an older state of it
			return errLost
		}
	}
}

// lines delivers what is behind the cursor, and moves it behind each entry
// before the next one is sent.
func (o *outbox) lines(h *hold, b *box) (err error) {
	if _, ok := o.first(b); !ok {
		return nil
	}
	c, err := o.s.store.Open(h.ctx, o.s.key(b.memory, entriesFile), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for {
		end, ok := o.first(b)
		if !ok || end > c.Size() {
			return nil
		}
		line := make([]byte, end-h.at())
		if n, err := c.ReadAt(line, h.at()); n < len(line) {
			return fmt.Errorf("read the entries of memory %s: %w", b.memory, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := o.line(h.ctx, b, line); err != nil {
				return err
			}
		}
		if err := o.persist(h.ctx, b, func() error { return h.advance(end) }); err != nil {
			return err
		}
		o.stands(b, end)
		o.tell()
	}
}
