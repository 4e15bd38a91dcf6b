package fanout

import (
	"fmt"
	"testing"

	"ctxfs/backing"
)

func TestAWatcherThatDoesNotReadGetsOneResync(t *testing.T) {
	q := NewQueue()
	for i := range MaxPending + 10 {
		q.Add(backing.Event{Kind: backing.Changed, Key: backing.Key(fmt.Sprint(i))})
	}
	q.Add(backing.Event{Kind: backing.Changed, Key: "0"})
	if list := q.take(); len(list) != 1 || list[0].Kind != backing.Resync {
		t.Fatalf("%d events wait", len(list))
	}
	for range 5 {
		q.Add(backing.Event{Kind: backing.Changed, Key: "a"})
	}
	if list := q.take(); len(list) != 1 || list[0].Key != "a" {
		t.Fatalf("events %+v", list)
	}
}
