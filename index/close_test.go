package index

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/entries"
	"ctxfs/room"
)

// flood reports many changes at once, and looks at the first of them only when
// it is told to end.
type flood struct {
	*entries.Entries
	ended  context.Context // of Follow; set before the first change
	busy   chan struct{}   // closed when a change is looked at
	looked int             // by the one goroutine of Follow
	late   bool
}

func (f *flood) Follow(ctx context.Context, changed func([]entries.Change)) error {
	f.ended = ctx
	all := make([]entries.Change, 1000)
	for i := range all {
		all[i].Path = "a/20260221T143022-x.md"
	}
	changed(all)
	return nil
}

func (f *flood) Stat(ctx context.Context, path string) (room.Info, error) {
	if path == "" || f.ended == nil {
		return f.Entries.Stat(ctx, path)
	}
	if f.looked++; f.looked == 1 {
		close(f.busy)
		select {
		case <-f.ended.Done():
		case <-time.After(30 * time.Second):
			f.late = true
		}
	}
	return room.Info{}, backing.ErrNotFound
}

func TestCloseDoesNotWaitForABatchOfChanges(t *testing.T) {
	b := newBench(t)
	f := &flood{Entries: b.room, busy: make(chan struct{})}
	x := Open(b.file()+"-other", f, Options{Log: slog.New(slog.DiscardHandler)})
	<-f.busy
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if f.late || f.looked > 10 {
		t.Errorf("after the close %d changes were looked at, the first one in vain: %v", f.looked, f.late)
	}
}
