package entries

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestToldWaitsForFollowersAndNobodyElse(t *testing.T) {
	b := newBench(t)
	b.ok(b.Told(ctx)) // nobody follows
	following, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	batches, release := make(chan []Change), make(chan bool)
	work.Go(func() {
		b.ok(b.Follow(following, func(batch []Change) {
			select {
			case batches <- batch:
				select {
				case <-release:
				case <-following.Done():
				}
			case <-following.Done():
			}
		}))
	})
	if first := <-batches; len(first) != 1 || first[0] != (Change{"", true}) {
		t.Errorf("began with %v", first)
	}
	short, end := context.WithTimeout(ctx, 10*time.Millisecond)
	defer end()
	if err := b.Told(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("told while the follower was busy: %v", err)
	}
	release <- true
	b.ok(b.Told(ctx))
	b.mustSave(alice, one, valid)
	told := make(chan error, 1)
	work.Go(func() { told <- b.Told(ctx) })
	seen := false
	for {
		select {
		case batch := <-batches:
			for _, c := range batch {
				seen = seen || c.Path == one
			}
			release <- true
			continue
		case err := <-told:
			if b.ok(err); !seen {
				t.Error("Told returned before the follower was told of the commit")
			}
		case <-time.After(10 * time.Second):
			t.Error("Told waits for ever")
		}
		break
	}
	stop()
	work.Wait()
	b.changed(one)
	b.ok(b.Told(ctx)) // nobody follows any more
}

func TestGatheringEndsWhenSomebodyWaits(t *testing.T) {
	q := newQueue()
	q.follows, q.quiet, q.most = true, time.Hour, time.Hour
	q.add("a", false)
	waiting := make(chan error, 1)
	go func() { waiting <- q.wait(ctx) }()
	<-q.wake
	q.gather(ctx)
	batch, last := q.take()
	q.done(last)
	if err := <-waiting; err != nil || len(batch) != 1 {
		t.Errorf("%v, told of %v", err, batch)
	}
}

func TestGatheringEndsWhileChangesGoOn(t *testing.T) {
	q := newQueue()
	q.follows, q.quiet, q.most = true, time.Hour, time.Millisecond
	q.add("a", false)
	q.gather(ctx) // the second timer alone ends it
	if batch, _ := q.take(); len(batch) != 1 {
		t.Errorf("told of %v", batch)
	}
}
