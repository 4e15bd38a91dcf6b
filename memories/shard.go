package memories

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errFull: no room appeared in time.
var errFull = errors.New("the queue is full")

// shard is one bounded queue and the word that its worker waits for.
type shard struct {
	room   chan struct{} // holds a token for each job in the queue, and for each that has reserved its place
	closed chan struct{}

	mu     sync.Mutex // guards what follows
	jobs   []Job
	ending bool
	wake   chan struct{} // holds a token when there may be something to do
}

func newShard(length int) *shard {
	return &shard{room: make(chan struct{}, length), closed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// reserve takes a place in the queue: errFull after patience, ErrClosed, the
// error of ctx. Those that wait are served in the order in which they came.
func (s *shard) reserve(ctx context.Context, patience time.Duration) error {
	select {
	case <-s.closed:
		return ErrClosed
	case s.room <- struct{}{}:
		return nil
	default:
	}
	if patience == 0 {
		return errFull
	}
	var expired <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		expired = t.C
	}
	select {
	case s.room <- struct{}{}:
		return nil
	case <-expired:
		return errFull
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return ErrClosed
	}
}

// add queues j in a place that was reserved; false where the shard is closed.
func (s *shard) add(j Job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		<-s.room
		return false
	}
	s.jobs = append(s.jobs, j)
	if j.Accepted != nil {
		j.Accepted()
	}
	s.ring()
	return true
}

func (s *shard) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next takes the oldest job, waiting for one; false when the shard is closed
// and empty.
func (s *shard) next() (Job, bool) {
	for {
		s.mu.Lock()
		if len(s.jobs) > 0 {
			j := s.jobs[0]
			s.jobs[0] = Job{} // the queue shall not keep its content alive
			s.jobs = s.jobs[1:]
			s.mu.Unlock()
			<-s.room
			return j, true
		}
		ending := s.ending
		s.mu.Unlock()
		if ending {
			return Job{}, false
		}
		<-s.wake
	}
}

func (s *shard) depth() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs)
}

// close takes no more jobs; the worker ends when the queue is empty.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.ending = true
		close(s.closed)
	}
	s.ring()
}
