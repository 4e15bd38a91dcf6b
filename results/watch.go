package results

import (
	"context"
	"fmt"
	"sync"

	"ctxfs/backing"
)

// watchers are the callers of Watch. The zero value is ready.
type watchers struct {
	mu  sync.Mutex // guards all
	all map[*queue]bool
}

// queue holds the names that a watcher was not told of yet, each once, in the
// order in which they changed.
type queue struct {
	mu     sync.Mutex // guards the rest
	order  []string
	queued map[string]bool
	wake   chan struct{} // holds one token while order is not empty
}

func (q *queue) add(name string) {
	q.mu.Lock()
	if !q.queued[name] {
		q.queued[name] = true
		q.order = append(q.order, name)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	order := q.order
	q.order = nil
	clear(q.queued)
	return order
}

// changed tells every watcher that name is not what it was.
func (w *watchers) changed(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for q := range w.all {
		q.add(name)
	}
}

func (w *watchers) join() (q *queue, leave func()) {
	q = &queue{queued: map[string]bool{}, wake: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*queue]bool{}
	}
	w.all[q] = true
	return q, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, q)
	}
}

// Watch implements [room.Room]. changed runs in the caller's goroutine,
// without any lock; what changes while it runs is told afterwards, once.
func (m *resultsRoom) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	q, leave := m.r.watch.join()
	defer leave()
	events, err := m.r.store.Watch(ctx, "")
	if err != nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		for event := range events {
			q.event(event)
		}
	})
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
			for _, name := range q.take() {
				changed(name, name == "")
			}
		}
	}
}

// event adds what the store reports of the ordinary files. Results are the
// index's: it tells of them itself.
func (q *queue) event(e backing.Event) {
	switch {
	case e.Kind == backing.Resync:
		q.add("")
	case e.Key.Dir() == roomDir && !isResult(e.Key.Name()):
		q.add(e.Key.Name())
	}
}
