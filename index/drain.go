package index

import (
	"context"
	"time"
)

// turn is how long the index writes before others get their turn: what is
// committed meanwhile, and the end of the program, wait for no longer.
const turn = 250 * time.Millisecond

// While programs ask much of the mount, nobody waits for the index: it writes
// for a briefTurn and rests for what is left of a turn, so that it takes a tenth
// of a processor. A turn that has begun when they come ends early.
const (
	briefTurn = turn / 10
	much      = 1000 // requests a second; a walk takes twenty times as many
)

// drain works off the backlog, a turn at a time.
func (x *Index) drain() {
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-x.wake:
		}
		length := turn
		for c := x.crowd(); x.drainTurn(c.over(length)); c = x.crowd() {
			if length < turn {
				x.rests(turn - length)
			}
			length = turn
			if c.isMuch() {
				length = briefTurn
			}
		}
	}
}

// crowd is what programs have asked of the mount since a moment.
type crowd struct {
	x     *Index
	since time.Time
	asked int64
}

func (x *Index) crowd() crowd { return crowd{x, time.Now(), x.asked()} }

func (c crowd) isMuch() bool {
	return float64(c.x.asked()-c.asked) > much*time.Since(c.since).Seconds()
}

// over says when a turn of that length, which begins with c, is over.
func (c crowd) over(length time.Duration) func() bool {
	return func() bool {
		t := time.Since(c.since)
		return t > length || t > briefTurn && c.isMuch()
	}
}

func (x *Index) rests(d time.Duration) {
	select {
	case <-x.ctx.Done():
	case <-time.After(d):
	}
}

func (x *Index) drainTurn(over func() bool) (more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx.Err() != nil {
		return false
	}
	if len(x.backlog) == 0 {
		x.rest()
		return false
	}
	n := 0
	err := x.write(func(ctx context.Context) (err error) {
		n, err = x.forATurn(over, len(x.backlog), func(i int) error { return x.one(ctx, x.backlog[i]) })
		return err
	})
	if err != nil {
		x.again(err)
		return false
	}
	for _, p := range x.backlog[:n] {
		delete(x.todo, p)
	}
	clear(x.backlog[:n]) // the array stays until the last of it is done
	x.backlog = x.backlog[n:]
	x.rest()
	return len(x.backlog) > 0
}

// forATurn calls do with the numbers below n until the turn is over, or the
// index ends, and returns how often.
func (x *Index) forATurn(over func() bool, n int, do func(i int) error) (int, error) {
	for i := range n {
		if x.ctx.Err() != nil || i > 0 && over() {
			return i, nil
		}
		if err := do(i); err != nil {
			return i, err
		}
	}
	return n, nil
}
