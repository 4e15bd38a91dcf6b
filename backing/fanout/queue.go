// Package fanout holds what every implementation of backing.Store needs to
// watch: a queue of events for each watcher, who may be slow.
package fanout

import (
	"context"
	"sync"

	"ctxfs/backing"
)

// MaxPending is how many events wait for a watcher that does not read; then
// one Resync stands for all of them.
const MaxPending = 1 << 16

// Queue is one Watch: a queue in which each key stands once. Safe for
// concurrent use; Pump runs once.
type Queue struct {
	out  chan backing.Event
	wake chan struct{} // holds one token while something waits

	mu      sync.Mutex // guards what follows
	pending []backing.Event
	waiting map[backing.Key]bool // keys of the Changed events in pending
	resync  bool                 // pending is one Resync
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	return &Queue{
		out:     make(chan backing.Event),
		wake:    make(chan struct{}, 1),
		waiting: make(map[backing.Key]bool),
	}
}

// Out is what the watcher reads. It is closed when Pump ends.
func (q *Queue) Out() <-chan backing.Event { return q.out }

// Add puts ev at the end. It never waits.
func (q *Queue) Add(ev backing.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.resync || ev.Kind == backing.Changed && q.waiting[ev.Key]:
		return
	case ev.Kind == backing.Resync || len(q.pending) >= MaxPending:
		q.resync = true
		q.pending = []backing.Event{{Kind: backing.Resync, Token: ev.Token}}
	default:
		q.waiting[ev.Key] = true
		q.pending = append(q.pending, ev)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Queue) take() []backing.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.pending
	q.pending, q.resync = nil, false
	clear(q.waiting)
	return list
}

// Pump hands the queue to the reader until ctx or the store ends.
func (q *Queue) Pump(ctx context.Context, done <-chan struct{}) {
	defer close(q.out)
	for {
		select {
		case <-ctx.Done():
			return
		case <-done:
			return
		case <-q.wake:
		}
		for _, ev := range q.take() {
			select {
			case <-ctx.Done():
				return
			case <-done:
				return
			case q.out <- ev:
			}
		}
	}
}
