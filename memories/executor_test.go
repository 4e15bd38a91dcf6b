package memories

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

func closed(t *testing.T, x *ShardExecutor) {
	t.Helper()
	if err := x.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestNoJobIsLostOrReordered(t *testing.T) {
	const memories, jobs, submitters = 1000, 100, 16
	x := NewShardExecutor(ExecutorOptions{Shards: 8, Queue: 64, EnqueueTimeout: time.Minute, Attempts: 3,
		Backoff: Backoff{Sleep: func(context.Context, time.Duration) error { return nil }}})
	var got [memories][]int // each written by the worker of its shard only
	failedOnce := make([][]bool, memories)
	for m := range failedOnce {
		failedOnce[m] = make([]bool, jobs)
	}
	var wg sync.WaitGroup
	for s := range submitters {
		wg.Go(func() {
			for n := range jobs {
				for m := s; m < memories; m += submitters {
					err := x.Submit(ctx, fmt.Sprint("m", m), Job{Run: func(context.Context) error {
						if n%7 == 3 && !failedOnce[m][n] {
							failedOnce[m][n] = true
							return errors.New("not yet")
						}
						got[m] = append(got[m], n)
						return nil
					}})
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	closed(t, x)
	for m := range got {
		if len(got[m]) != jobs || !slices.IsSorted(got[m]) || got[m][0] != 0 || got[m][jobs-1] != jobs-1 {
			t.Fatalf("memory %d ran %d jobs: %v", m, len(got[m]), got[m])
		}
	}
}

func TestAcceptedIsCalledInTheOrderOfTheQueue(t *testing.T) {
	x := NewShardExecutor(ExecutorOptions{Shards: 1, Queue: 8, EnqueueTimeout: time.Minute})
	var accepted, ran []int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range 500 {
		wg.Go(func() {
			err := x.Submit(ctx, "m", Job{
				Accepted: func() { mu.Lock(); defer mu.Unlock(); accepted = append(accepted, n) },
				Run:      func(context.Context) error { ran = append(ran, n); return nil },
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	closed(t, x)
	if len(ran) != 500 || !slices.Equal(accepted, ran) {
		t.Fatalf("accepted %v\nran %v", accepted, ran)
	}
}

// stuffed returns an executor of one shard whose worker is held up and whose
// queue is full.
func stuffed(t *testing.T, timeout time.Duration) (x *ShardExecutor, release func(), ran *[]string) {
	t.Helper()
	x = NewShardExecutor(ExecutorOptions{Shards: 1, Queue: 2, EnqueueTimeout: timeout, Attempts: 1})
	hold, running := make(chan struct{}), make(chan struct{})
	ran = new([]string)
	job := func(name string) Job {
		return Job{Run: func(context.Context) error { *ran = append(*ran, name); return nil }}
	}
	err := x.Submit(ctx, "m", Job{Run: func(context.Context) error { close(running); <-hold; return nil }})
	within(t, running, "the first job")
	err = errors.Join(err, x.Submit(ctx, "m", job("a")), x.Submit(ctx, "other", job("b")))
	if err != nil {
		t.Fatal(err)
	}
	return x, sync.OnceFunc(func() { close(hold) }), ran
}

func TestFullQueueAnswersEAGAINAfterTheTimeoutAndDropsNothing(t *testing.T) {
	x, release, ran := stuffed(t, 20*time.Millisecond)
	began := time.Now()
	err := x.Submit(ctx, "m", Job{Run: func(context.Context) error { *ran = append(*ran, "refused"); return nil }})
	var full *FullError
	if !errors.As(err, &full) || !errors.Is(err, syscall.EAGAIN) || full.Length != 2 || full.Key != "m" {
		t.Fatalf("got %v", err)
	}
	if waited := time.Since(began); waited < 20*time.Millisecond {
		t.Fatalf("gave up after %v already", waited)
	}
	if d := x.Depths(); !slices.Equal(d, []int{2}) {
		t.Fatalf("depths %v", d)
	}
	release()
	closed(t, x)
	if !slices.Equal(*ran, []string{"a", "b"}) {
		t.Fatalf("ran %v", *ran)
	}
}

func TestFullQueueBlocksUntilThereIsRoom(t *testing.T) {
	x, release, ran := stuffed(t, time.Minute)
	done := make(chan error, 1)
	go func() {
		done <- x.Submit(ctx, "m", Job{Run: func(context.Context) error { *ran = append(*ran, "c"); return nil }})
	}()
	select {
	case err := <-done:
		t.Fatalf("submitted to a full queue: %v", err)
	default:
	}
	release()
	if err := within(t, done, "the blocked submit"); err != nil {
		t.Fatal(err)
	}
	closed(t, x)
	if !slices.Equal(*ran, []string{"a", "b", "c"}) {
		t.Fatalf("ran %v", *ran)
	}
}

func TestSubmitEndsWithItsContext(t *testing.T) {
	x, release, _ := stuffed(t, time.Minute)
	c, cancel := context.WithCancel(ctx)
	cancel()
	err := x.Submit(c, "m", Job{Run: func(context.Context) error { t.Error("ran"); return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	release()
	closed(t, x)
}

func TestRetriesWaitLongerEachTimeWithJitter(t *testing.T) {
	var waits []time.Duration
	var calls int
	rnd := []float64{0, 0.5, 0.999, 0}
	x := NewShardExecutor(ExecutorOptions{Attempts: 5, Backoff: Backoff{First: 100 * time.Millisecond, Max: 300 * time.Millisecond,
		Rand:  func() float64 { r := rnd[0]; rnd = rnd[1:]; return r },
		Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }}})
	last := errors.New("still")
	err := x.Do(ctx, "m", func(context.Context) error { calls++; return last })
	closed(t, x)
	if !errors.Is(err, last) || calls != 5 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	want := []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 299850 * time.Microsecond, 150 * time.Millisecond}
	if !slices.Equal(waits, want) {
		t.Fatalf("waited %v, want %v", waits, want)
	}
}

func TestPermanentErrorIsNotRetried(t *testing.T) {
	calls, no := 0, errors.New("no")
	x := NewShardExecutor(ExecutorOptions{Permanent: func(err error) bool { return errors.Is(err, no) }})
	err := x.Do(ctx, "m", func(context.Context) error { calls++; return no })
	closed(t, x)
	if calls != 1 || !errors.Is(err, no) {
		t.Fatalf("%d calls, %v", calls, err)
	}
}

func TestCloseRunsWhatWasAcceptedAndTakesNoMore(t *testing.T) {
	x, release, ran := stuffed(t, time.Minute)
	done := make(chan error, 1)
	go func() { done <- x.Close(ctx) }()
	for s := x.shards[0]; ; {
		<-s.closed
		break
	}
	if err := x.Submit(ctx, "m", Job{Run: func(context.Context) error { t.Error("ran"); return nil }}); !errors.Is(err, ErrClosed) {
		t.Fatalf("submitted after Close: %v", err)
	}
	release()
	if err := within(t, done, "Close"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(*ran, []string{"a", "b"}) {
		t.Fatalf("ran %v", *ran)
	}
}

func TestCloseGivesUpWithItsContextAndSaysSo(t *testing.T) {
	x := NewShardExecutor(ExecutorOptions{Shards: 1})
	running, ended := make(chan struct{}), make(chan error, 2)
	err := x.Submit(ctx, "m", Job{Run: func(c context.Context) error { close(running); <-c.Done(); return c.Err() },
		Done: func(err error) { ended <- err }})
	err = errors.Join(err, x.Submit(ctx, "m", Job{Run: func(context.Context) error { return nil }, Done: func(err error) { ended <- err }}))
	if err != nil {
		t.Fatal(err)
	}
	within(t, running, "the job")
	c, cancel := context.WithCancel(ctx)
	cancel()
	if err := x.Close(c); !errors.Is(err, context.Canceled) {
		t.Fatalf("Close: %v", err)
	}
	for range 2 {
		if err := within(t, ended, "the end of a job"); !errors.Is(err, context.Canceled) {
			t.Fatalf("a job that did not run ended with %v", err)
		}
	}
}
