package entries

import (
	"context"
	"fmt"
	"sync"

	"ctxfs/backing"
)

// queue holds the paths that a watcher was not told of yet, each once, in the
// order in which they changed.
type queue struct {
	mu    sync.Mutex // guards the rest
	order []string
	deep  map[string]bool
	wake  chan struct{} // holds one token while order is not empty
}

func newQueue() *queue {
	return &queue{deep: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (q *queue) add(path string, deep bool) {
	q.mu.Lock()
	was, queued := q.deep[path]
	q.deep[path] = was || deep
	if !queued {
		q.order = append(q.order, path)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (q *queue) take() (order []string, deep map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	order, deep = q.order, q.deep
	q.order, q.deep = nil, map[string]bool{}
	return order, deep
}

// changed tells every watcher that path is not what it was.
func (e *Entries) changed(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for q := range e.watchers {
		q.add(path, false)
	}
}

// Watch implements [room.Room]. changed runs in the caller's goroutine,
// without any lock; what changes while it runs is told afterwards, once.
func (e *Entries) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	q := newQueue()
	e.mu.Lock()
	e.watchers[q] = true
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watchers, q)
	}()
	events, err := e.store.Watch(ctx, "")
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
			order, deep := q.take()
			for _, path := range order {
				changed(path, deep[path])
			}
		}
	}
}

// event adds what the store reports, where this room shows such a path.
func (q *queue) event(event backing.Event) {
	if event.Kind == backing.Resync {
		q.add("", true)
		return
	}
	if event.Key.Under(backing.Own) {
		return
	}
	p, err := placeOf(string(event.Key))
	if err != nil || p.depth > 3 || p.depth == 1 && !agentName(p.name) {
		return
	}
	q.add(p.path, false)
}
