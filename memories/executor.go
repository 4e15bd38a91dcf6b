package memories

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"syscall"
	"time"
)

// What a [ShardExecutor] does where nothing else is said (reference/3's
// service has the same values).
const (
	DefaultShards         = 4
	DefaultQueue          = 128 // jobs a shard
	DefaultEnqueueTimeout = 100 * time.Millisecond
	DefaultAttempts       = 8
)

// ErrClosed is what a closed executor, or a closed Memories, answers.
var ErrClosed = errors.New("the queue is closed")

// FullError says that a queue stayed full for as long as a job may wait. The
// job was not taken; whoever submits it again later loses nothing.
type FullError struct {
	Key    string        // the memory
	Length int           // jobs in its shard's queue
	Waited time.Duration // for room in it
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the queue of memory %s has been full (%d jobs) for %v: try again", e.Key, e.Length, e.Waited)
}

// Unwrap returns EAGAIN.
func (e *FullError) Unwrap() error { return syscall.EAGAIN }

// ExecutorOptions say how a [ShardExecutor] queues and retries. The zero
// value has the defaults.
type ExecutorOptions struct {
	Shards         int           // workers, each with a queue of its own
	Queue          int           // jobs that one queue holds
	EnqueueTimeout time.Duration // how long a full queue blocks; negative: not at all
	Attempts       int           // how often a job is tried
	Backoff        Backoff       // between the attempts
	// Permanent reports that no retry can mend err; nil retries everything.
	Permanent func(err error) bool
}

// Job is one unit of work of one key. Only Run must be there.
type Job struct {
	// Run does the work. Where it fails it is called again, up to
	// ExecutorOptions.Attempts times; it must bear that. ctx ends when the
	// executor gives up draining.
	Run func(ctx context.Context) error
	// Accepted is called when the job has its place in the queue, before
	// Submit returns and before Run. The order of these calls is that of the
	// queue. It must be quick and must not call the executor.
	Accepted func()
	// Done is called once, after the last Run, with its error.
	Done func(err error)
	// Patient waits for room in the queue as long as Submit's ctx allows.
	Patient bool
}

// ShardExecutor runs jobs: those of one key one after another in the order in
// which they were accepted, those of different keys side by side. Keys are
// spread over shards; a job that is being retried holds up its own shard
// only. Nothing that was accepted is dropped. Safe for concurrent use.
type ShardExecutor struct {
	o      ExecutorOptions
	seed   maphash.Seed
	shards []*shard
	ctx    context.Context // of the jobs
	stop   context.CancelFunc
	work   sync.WaitGroup
}

// NewShardExecutor returns a running executor, to be closed by its owner.
func NewShardExecutor(o ExecutorOptions) *ShardExecutor {
	if o.Shards <= 0 {
		o.Shards = DefaultShards
	}
	if o.Queue <= 0 {
		o.Queue = DefaultQueue
	}
	if o.EnqueueTimeout == 0 {
		o.EnqueueTimeout = DefaultEnqueueTimeout
	}
	if o.Attempts <= 0 {
		o.Attempts = DefaultAttempts
	}
	o.Backoff = o.Backoff.orDefault()
	x := &ShardExecutor{o: o, seed: maphash.MakeSeed()}
	x.ctx, x.stop = context.WithCancel(context.Background())
	for range o.Shards {
		s := newShard(o.Queue)
		x.shards = append(x.shards, s)
		x.work.Go(func() { x.serve(s) })
	}
	return x
}

func (x *ShardExecutor) shardOf(key string) *shard {
	return x.shards[maphash.String(x.seed, key)%uint64(len(x.shards))]
}

// Submit queues a job of key and returns when it has its place. A full queue
// blocks until there is room: *FullError (EAGAIN) after EnqueueTimeout, the
// error of ctx when that ends, ErrClosed. After an error the job will not run.
func (x *ShardExecutor) Submit(ctx context.Context, key string, j Job) error {
	s := x.shardOf(key)
	err := s.reserve(ctx, x.patience(j))
	if errors.Is(err, errFull) {
		return &FullError{Key: key, Length: s.depth(), Waited: max(x.o.EnqueueTimeout, 0)}
	}
	if err != nil {
		return fmt.Errorf("queue a job of memory %s: %w", key, err)
	}
	if !s.add(j) {
		return fmt.Errorf("queue a job of memory %s: %w", key, ErrClosed)
	}
	return nil
}

// patience is how long j may wait for room; negative is for ever.
func (x *ShardExecutor) patience(j Job) time.Duration {
	if j.Patient {
		return -1
	}
	return max(x.o.EnqueueTimeout, 0)
}

// Await returns when every job of key that was accepted before has ended, or
// with ctx.
func (x *ShardExecutor) Await(ctx context.Context, key string) error {
	return x.Do(ctx, key, func(context.Context) error { return nil })
}

// Do queues run behind the jobs of key, waiting for room without a timeout,
// and returns its error when it has ended. When ctx ends before, run may
// still happen.
func (x *ShardExecutor) Do(ctx context.Context, key string, run func(context.Context) error) error {
	return x.Finish(ctx, key, Job{Run: run, Patient: true})
}

// Finish is Submit, and returns the job's error when it has ended, or that of
// ctx, after which it may still happen.
func (x *ShardExecutor) Finish(ctx context.Context, key string, j Job) error {
	done := make(chan error, 1)
	ended := j.Done
	j.Done = func(err error) {
		if ended != nil {
			ended(err)
		}
		done <- err
	}
	if err := x.Submit(ctx, key, j); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Depths returns how many jobs wait in each shard, those that run not counted.
func (x *ShardExecutor) Depths() []int {
	d := make([]int, len(x.shards))
	for i, s := range x.shards {
		d[i] = s.depth()
	}
	return d
}

// Close takes no further job, runs all that were accepted, and waits for
// them. When ctx ends before that, the jobs' context ends too, so that
// those left fail (their Done says so), and Close returns ctx's error.
// Closing again waits again.
func (x *ShardExecutor) Close(ctx context.Context) error {
	for _, s := range x.shards {
		s.close()
	}
	drained := make(chan struct{})
	go func() {
		x.work.Wait()
		close(drained)
	}()
	select {
	case <-drained:
		x.stop()
		return nil
	case <-ctx.Done():
		x.stop()
		<-drained
		return fmt.Errorf("drain the queues: %w", ctx.Err())
	}
}

// serve runs one shard's jobs until the shard is closed and empty.
func (x *ShardExecutor) serve(s *shard) {
	for {
		j, ok := s.next()
		if !ok {
			return
		}
		err := x.try(j)
		if j.Done != nil {
			j.Done(err)
		}
	}
}

// try runs j until it succeeds or there is no sense in going on.
func (x *ShardExecutor) try(j Job) error {
	for attempt := 1; ; attempt++ {
		if err := x.ctx.Err(); err != nil {
			return fmt.Errorf("given up at the end: %w", err)
		}
		err := j.Run(x.ctx)
		if err == nil || attempt >= x.o.Attempts || x.o.Permanent != nil && x.o.Permanent(err) {
			return err
		}
		if werr := x.o.Backoff.wait(x.ctx, attempt); werr != nil {
			return errors.Join(err, werr)
		}
	}
}
