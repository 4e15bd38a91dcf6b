package memories

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"ctxfs/backing"
)

// hints are the paths that one watcher was not told of yet, each once.
type hints struct {
	mu    sync.Mutex // guards the rest
	order []string
	deep  map[string]bool
	wake  chan struct{} // holds a token while order is not empty
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

// changed tells every watcher that path is not what it was.
func (s *Memories) changed(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.watchers {
		h.add(path, false)
	}
}

// Watch implements [room.Room]. changed runs in the caller's goroutine.
func (s *Memories) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	h := &hints{deep: map[string]bool{}, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.watchers[h] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, h)
	}()
	events, err := s.store.Watch(ctx, "")
	if err != nil {
		return fmt.Errorf("watch the memories: %w", err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		for event := range events {
			s.hint(h, event)
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

// hint adds what the store reports, where the room shows such a path.
func (s *Memories) hint(h *hints, event backing.Event) {
	if event.Kind == backing.Resync {
		h.add("", true)
		return
	}
	if !event.Key.Under(s.top) || event.Key.Under(backing.Own) {
		return
	}
	path := strings.TrimPrefix(strings.TrimPrefix(string(event.Key), string(s.top)), "/")
	p, err := placeOf(path)
	if err != nil || p.memory != "" && CheckMemory(p.memory) != nil || isTmp(p.file) {
		return
	}
	h.add(path, false)
}
