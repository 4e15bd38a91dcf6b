package entries

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
)

// watch collects what is told until want holds of it.
func (b *bench) watch(do func(), want func(told map[string]bool) bool) {
	b.t.Helper()
	watching, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	told := map[string]bool{}
	first := make(chan struct{})
	var once sync.Once
	done := make(chan error, 1)
	go func() {
		done <- b.Watch(watching, func(path string, deep bool) {
			once.Do(func() { close(first) })
			told[path] = true
			if want(told) {
				stop()
			}
		})
	}()
	// Watch has begun when it tells of anything at all.
	for began := false; !began; {
		b.changed("begin")
		select {
		case <-first:
			began = true
		case <-watching.Done():
			b.t.Fatal("Watch does not begin")
		default:
		}
	}
	do()
	b.ok(<-done)
	if !want(told) {
		b.t.Errorf("told only of %v", told)
	}
}

func TestWatchTellsOfCommitsRejectsAndMarks(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.watch(func() {
		b.mustSave(bob, two, superseding)
		wantErrno(t, b.save(bob, one, invalid), syscall.EINVAL)
	}, func(told map[string]bool) bool { return told[one] && told[two] && told[one+".rej"] })
}

func TestWatchTellsOfEditsFromOutside(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.names("alice")
	b.watch(func() { b.onDisk(one, "from outside") }, func(told map[string]bool) bool { return told[one] })
}

func TestQueueTellsEachPathOnceAndLosesNone(t *testing.T) {
	q := newQueue()
	for range 3 {
		q.add("a", false)
		q.add("b", false)
	}
	q.event(backing.Event{Kind: backing.Changed, Key: ".ctxfs/log/refusals"})
	q.event(backing.Event{Kind: backing.Changed, Key: ".git/config"})
	q.event(backing.Event{Kind: backing.Changed, Key: "README.md"})
	q.event(backing.Event{Kind: backing.Changed, Key: "alice/x"})
	q.event(backing.Event{Kind: backing.Resync})
	q.add("b", true)
	batch, _ := q.take()
	if want := []Change{{"a", false}, {"b", true}, {"alice/x", false}, {"", true}}; !slices.Equal(batch, want) {
		t.Errorf("told of %v", batch)
	}
	if batch, _ := q.take(); len(batch) > 0 {
		t.Errorf("told twice: %v", batch)
	}
}

// A handler that looks at what changed must not find a lock held.
func TestWatchTellsWithoutLocks(t *testing.T) {
	b := newBench(t)
	watching, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	var changing sync.WaitGroup
	defer changing.Wait()
	changing.Go(func() {
		for watching.Err() == nil {
			b.changed(one)
		}
	})
	saved := false
	b.ok(b.Watch(watching, func(path string, deep bool) {
		if !saved {
			saved = true
			b.mustSave(alice, one, valid)
			stop()
		}
	}))
	if !saved {
		t.Error("nothing was told")
	}
}
