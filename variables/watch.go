package variables

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"ctxfs/backing"
)

// watchers are the callers of Watch. The zero value is ready.
type watchers struct {
	mu  sync.Mutex // guards all
	all map[*queue]bool
}

// queue holds the paths that a watcher was not told of yet, each once, in the
// order in which they changed.
type queue struct {
	mu    sync.Mutex // guards the rest
	order []string
	deep  map[string]bool
	wake  chan struct{} // holds one token while order is not empty
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
func (w *watchers) changed(path string, deep bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for q := range w.all {
		q.add(path, deep)
	}
}

func (w *watchers) join() (q *queue, leave func()) {
	q = &queue{deep: map[string]bool{}, wake: make(chan struct{}, 1)}
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

// Watch is that of [room.Room], with paths in [Variables.Room]. changed runs in the caller's goroutine,
// without any lock; what changes while it runs is told afterwards, once.
// Nothing is told of self: it is different for each caller and should not be
// cached.
func (v *Variables) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	q, leave := v.watchers.join()
	defer leave()
	events, err := v.store.Watch(ctx, "")
	if err != nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		for event := range events {
			v.event(q, event)
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

// event adds what the store reports of this room.
func (v *Variables) event(q *queue, event backing.Event) {
	if event.Kind == backing.Resync || event.Key == roomDir {
		q.add("", true)
		return
	}
	path, ours := strings.CutPrefix(string(event.Key), roomDir+"/")
	if !ours {
		return
	}
	if scope, key, deep := strings.Cut(path, "/"); deep {
		v.known.forget(name{Scope(scope), key})
	}
	q.add(path, false)
}
