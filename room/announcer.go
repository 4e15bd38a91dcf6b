package room

import (
	"context"
	"fmt"
	"sync"

	"ctxfs/backing"
)

// Announcer tells the callers of a room's Watch what changed. The zero value
// is ready to use. Safe for concurrent use.
type Announcer struct {
	mu       sync.Mutex // guards watchers
	watchers map[*hints]bool
}

// hints are the paths that one watcher was not told of yet, each once, in the
// order in which they changed.
type hints struct {
	wake chan struct{} // holds one token while order is not empty

	mu    sync.Mutex // guards the rest
	order []string
	deep  map[string]bool
}

func (h *hints) add(path string, deep bool) {
	h.mu.Lock()
	was, queued := h.deep[path]
	h.deep[path] = was || deep
	if !queued {
		h.order = append(h.order, path)
	}
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *hints) take() (order []string, deep map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	order, deep = h.order, h.deep
	h.order, h.deep = nil, map[string]bool{}
	return order, deep
}

// Changed announces that path, or everything below it, is not what it was. It
// does not wait for anybody.
func (a *Announcer) Changed(path string, deep bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for h := range a.watchers {
		h.add(path, deep)
	}
}

// Watch is Room.Watch: what the room announces, and what hear makes of the
// events of its store. changed runs in the caller's goroutine, without any
// lock; what changes while it runs is told afterwards, once.
func (a *Announcer) Watch(ctx context.Context, store backing.Store, hear func(e backing.Event, announce func(path string, deep bool)), changed func(path string, deep bool)) error {
	h := &hints{deep: map[string]bool{}, wake: make(chan struct{}, 1)}
	a.mu.Lock()
	if a.watchers == nil {
		a.watchers = map[*hints]bool{}
	}
	a.watchers[h] = true
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watchers, h)
	}()
	events, err := store.Watch(ctx, "")
	if err != nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		for event := range events {
			hear(event, h.add)
		}
	})
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
			order, deep := h.take()
			for _, path := range order {
				changed(path, deep[path])
			}
		}
	}
}
