package entries

import (
	"context"
	"sync"
	"time"

	"ctxfs/backing"
)

// queue holds the paths that a watcher was not told of yet, each once, in the
// order in which they changed.
type queue struct {
	follows bool          // see Follow
	quiet   time.Duration // see gather; of who follows
	most    time.Duration
	wake    chan struct{} // holds one token while order is not empty
	hurry   chan struct{} // holds one token since somebody waits

	mu    sync.Mutex // guards the rest
	order []string
	deep  map[string]bool
	added uint64        // counts changes
	told  uint64        // up to which of them the watcher has been told
	moved chan struct{} // closed when told grows
	ended bool
}

func newQueue() *queue {
	return &queue{deep: map[string]bool{}, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), moved: make(chan struct{})}
}

func (q *queue) add(path string, deep bool) {
	q.mu.Lock()
	was, queued := q.deep[path]
	q.deep[path] = was || deep
	if !queued {
		q.order = append(q.order, path)
	}
	q.added++
	q.mu.Unlock()
	post(q.wake)
}

// post leaves a token in c, which holds one at most.
func post(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take empties the queue. last is the number of the last change, for done.
func (q *queue) take() (batch []Change, last uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, path := range q.order {
		batch = append(batch, Change{path, q.deep[path]})
	}
	q.order, q.deep = nil, map[string]bool{}
	return batch, q.added
}

// done notes that the watcher has been told of all changes up to last.
func (q *queue) done(last uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.told = last
	close(q.moved)
	q.moved = make(chan struct{})
}

// end lets nobody wait any more.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	close(q.moved)
	q.moved = make(chan struct{})
}

// wait waits until the watcher has been told of all changes up to now.
func (q *queue) wait(ctx context.Context) error {
	q.mu.Lock()
	want := q.added
	for q.told < want && !q.ended {
		moved := q.moved
		q.mu.Unlock()
		post(q.hurry)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
		q.mu.Lock()
	}
	q.mu.Unlock()
	return nil
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
	return e.watch(ctx, newQueue(), func(batch []Change) {
		for _, c := range batch {
			changed(c.Path, c.Deep)
		}
	})
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
