package results

import (
	"context"
	"testing"
	"time"
)

func TestWatchTellsOfResultsAndRefusedDrafts(t *testing.T) {
	b := newBench(t)
	watching, stop := context.WithCancel(ctx)
	told := make(chan string, 100)
	done := make(chan error)
	go func() { done <- b.room.Watch(watching, func(path string, deep bool) { told <- path }) }()
	await := func(want string, act func()) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		retry := time.NewTicker(20 * time.Millisecond) // the watch may not have begun
		defer retry.Stop()
		act()
		for {
			select {
			case path := <-told:
				if path == want {
					return
				}
			case <-retry.C:
				act()
			case <-deadline:
				t.Fatalf("nobody told of %s", want)
			}
		}
	}
	await(one, func() { b.ok(b.save(one, grepOf(1))) })
	await(two+".rej", func() { _ = b.save(two, "oops") })
	await("tmp", func() { b.plain("tmp", "x") })
	await(one, func() {
		if _, err := b.Clear(ctx, "s1"); err != nil {
			t.Error(err)
		}
		b.ok(b.save(one, grepOf(1)))
	})
	stop()
	b.ok(<-done)
}
