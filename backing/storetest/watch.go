package storetest

import (
	"context"
	"testing"
	"time"

	"ctxfs/backing"
)

var watchTests = []test{
	{"WatchReportsWritesOfWhatWasListed", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		events := watch(t, s, "")
		names(t, s, "d", 10)
		put(t, s, "d/a", "1", backing.PutOptions{})
		await(t, events, "d/a")
		put(t, s, "d/a", "2", backing.PutOptions{KeepVersion: true})
		await(t, events, "d/a")
		ok(t, s.Remove(context.Background(), "d/a", ""))
		await(t, events, "d/a")
	}},
	{"WatchReportsWritesBesideWhatWasStatted", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		put(t, s, "d/a", "1", backing.PutOptions{})
		events := watch(t, s, "")
		_, err := s.Stat(context.Background(), "d/a")
		ok(t, err)
		put(t, s, "d/b", "1", backing.PutOptions{})
		await(t, events, "d/b")
	}},
	{"EveryWatchGetsEveryEvent", func(t *testing.T, s backing.Store) {
		one, two := watch(t, s, ""), watch(t, s, "")
		names(t, s, "", 10)
		put(t, s, "a", "1", backing.PutOptions{})
		await(t, one, "a")
		await(t, two, "a")
	}},
	{"ATokenResumesOrBringsAResync", func(t *testing.T, s backing.Store) {
		events := watch(t, s, "")
		names(t, s, "", 10)
		put(t, s, "a", "1", backing.PutOptions{})
		token := await(t, events, "a").Token
		if token == "" {
			t.Fatal("an event without a token")
		}
		put(t, s, "b", "1", backing.PutOptions{})
		await(t, watch(t, s, token), "b")
	}},
	{"TheChannelIsClosedWhenTheContextEnds", func(t *testing.T, s backing.Store) {
		ctx, cancel := context.WithCancel(context.Background())
		events, err := s.Watch(ctx, "")
		ok(t, err)
		cancel()
		awaitClosed(t, events)
	}},
	{"OwnIsNotReported", func(t *testing.T, s backing.Store) {
		events := watch(t, s, "")
		names(t, s, "", 10)
		put(t, s, backing.Own+"/vars/x", "1", backing.PutOptions{})
		put(t, s, "a", "1", backing.PutOptions{})
		put(t, s, "a", "2", backing.PutOptions{KeepVersion: true})
		put(t, s, "last", "1", backing.PutOptions{})
		for {
			ev := await(t, events, "a", "last", backing.Own, backing.Own+"/vars", backing.Own+"/vars/x")
			if ev.Key.Under(backing.Own) {
				t.Fatalf("event %+v", ev)
			}
			if ev.Key == "last" {
				return
			}
		}
	}},
}

// watch returns events until the test ends, when it waits for their end.
func watch(t testing.TB, s backing.Store, token string) <-chan backing.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	events, err := s.Watch(ctx, token)
	ok(t, err)
	return events
}

// await returns the first event of one of keys, or a Resync, and drops others.
func await(t testing.TB, events <-chan backing.Event, keys ...backing.Key) backing.Event {
	t.Helper()
	late := time.NewTimer(Deadline)
	defer late.Stop()
	for {
		select {
		case ev, open := <-events:
			if !open {
				t.Fatalf("the channel was closed before an event of %q", keys)
			}
			if ev.Kind == backing.Resync {
				return ev
			}
			for _, key := range keys {
				if ev.Key == key {
					return ev
				}
			}
		case <-late.C:
			t.Fatalf("no event of %q", keys)
		}
	}
}

func awaitClosed(t testing.TB, events <-chan backing.Event) {
	t.Helper()
	late := time.NewTimer(Deadline)
	defer late.Stop()
	for {
		select {
		case _, open := <-events:
			if !open {
				return
			}
		case <-late.C:
			t.Fatal("the channel was not closed")
		}
	}
}
