package localdir

import (
	"context"
	"strconv"
	"sync"

	"ctxfs/backing"
)

// maxPending is how many events wait for a subscriber that does not read;
// then one Resync stands for all of them.
const maxPending = 1 << 16

// subscriber is one Watch: a queue in which each key stands once.
type subscriber struct {
	out  chan backing.Event
	wake chan struct{} // holds one token while something waits

	mu      sync.Mutex // guards what follows
	pending []backing.Event
	waiting map[backing.Key]bool // keys of the Changed events in pending
	resync  bool                 // pending is one Resync
}

func newSubscriber() *subscriber {
	return &subscriber{
		out:     make(chan backing.Event),
		wake:    make(chan struct{}, 1),
		waiting: make(map[backing.Key]bool),
	}
}

func (s *subscriber) add(ev backing.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.resync || ev.Kind == backing.Changed && s.waiting[ev.Key]:
		return
	case ev.Kind == backing.Resync || len(s.pending) >= maxPending:
		s.resync = true
		s.pending = []backing.Event{{Kind: backing.Resync, Token: ev.Token}}
	default:
		s.waiting[ev.Key] = true
		s.pending = append(s.pending, ev)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscriber) take() []backing.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.pending
	s.pending, s.resync = nil, false
	clear(s.waiting)
	return list
}

// pump hands the queue to the reader until ctx or the store ends.
func (s *subscriber) pump(ctx context.Context, done <-chan struct{}) {
	defer close(s.out)
	for {
		select {
		case <-ctx.Done():
			return
		case <-done:
			return
		case <-s.wake:
		}
		for _, ev := range s.take() {
			select {
			case <-ctx.Done():
				return
			case <-done:
				return
			case s.out <- ev:
			}
		}
	}
}

// subscribe runs sub until ctx or the store ends; false where it has.
func (w *watches) subscribe(ctx context.Context, sub *subscriber) bool {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	if w.closed {
		return false
	}
	if w.add == nil {
		w.start()
	}
	w.mu.Lock()
	w.subs[sub] = true
	w.mu.Unlock()
	w.running.Go(func() {
		sub.pump(ctx, w.done)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.subs, sub)
	})
	return true
}

func (w *watches) tell(ev backing.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	ev.Token = strconv.FormatUint(w.seq, 10)
	for sub := range w.subs {
		sub.add(ev)
	}
}
