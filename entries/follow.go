package entries

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Changes are gathered for who follows until none came for gatherQuiet, but
// for no longer than gatherMost: what keeps up with many commits in a row does
// less, and hinders them less, in a few large steps.
const (
	gatherQuiet = 50 * time.Millisecond
	gatherMost  = 500 * time.Millisecond
)

// Change is a path that is not what it was; Deep means everything below it.
type Change struct {
	Path string
	Deep bool
}

// Follow is Watch for who keeps something up to date with the entries. It
// begins with a deep change of the top, as soon as no change can be missed any
// more. Changes are gathered for up to half a second, unless somebody waits in
// [Entries.Told] until changed has dealt with them. It returns when ctx ends.
func (e *Entries) Follow(ctx context.Context, changed func([]Change)) error {
	q := newQueue()
	q.follows, q.quiet, q.most = true, gatherQuiet, gatherMost
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
			if q.follows {
				q.gather(ctx)
			}
			batch, last := q.take()
			changed(batch)
			q.done(last)
		}
	}
}

// gather returns when it is time to tell of what is in q.
func (q *queue) gather(ctx context.Context) {
	quiet, most := time.NewTimer(q.quiet), time.NewTimer(q.most)
	defer quiet.Stop()
	defer most.Stop()
	for {
		select {
		case <-q.wake:
			quiet.Reset(q.quiet)
			continue
		case <-q.hurry:
		case <-quiet.C:
		case <-most.C:
		case <-ctx.Done():
		}
		return
	}
}
