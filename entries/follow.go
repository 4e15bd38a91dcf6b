package entries

import (
	"context"
	"fmt"
	"sync"
)

// Change is a path that is not what it was; Deep means everything below it.
type Change struct {
	Path string
	Deep bool
}

// Follow is Watch for who keeps something up to date with the entries. It
// begins with a deep change of the top, as soon as no change can be missed any
// more. While changed runs, [Entries.Told] waits. It returns when ctx ends.
func (e *Entries) Follow(ctx context.Context, changed func([]Change)) error {
	q := newQueue()
	q.follows = true
	return e.watch(ctx, q, changed)
}

// Told waits until every [Entries.Follow] has dealt with what had changed when
// Told was called, or for ctx.
func (e *Entries) Told(ctx context.Context) error {
	e.mu.Lock()
	var queues []*queue
	for q := range e.watchers {
		if q.follows {
			queues = append(queues, q)
		}
	}
	e.mu.Unlock()
	for _, q := range queues {
		if err := q.wait(ctx); err != nil {
			return fmt.Errorf("wait until changes are followed: %w", err)
		}
	}
	return nil
}

// watch tells changed what is added to q until ctx ends.
func (e *Entries) watch(ctx context.Context, q *queue, changed func([]Change)) error {
	e.mu.Lock()
	e.watchers[q] = true
	e.mu.Unlock()
	defer q.end()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watchers, q)
	}()
	events, err := e.store.Watch(ctx, "")
	if err != nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	if q.follows {
		q.add("", true)
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
			batch, last := q.take()
			changed(batch)
			q.done(last)
		}
	}
}
