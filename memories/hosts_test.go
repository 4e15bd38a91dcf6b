package memories

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

// sharing is a store that says that others write it too.
type sharing struct{ *localdir.Store }

func (sharing) Shared() {}

func TestHostsThatPutAContextAgreeOnItsSnapshot(t *testing.T) {
	store, err := localdir.Open(t.TempDir(), localdir.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	// The two prepare under names of their own, as on two hosts.
	one, two := sharing{store}, apart{sharing{store}}
	var all sync.WaitGroup
	for i, s := range []backing.Store{one, two} {
		m, err := Open(s, Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for n := range 25 {
				if err := m.PutContext(ctx, "m", fmt.Sprintf("text %d of host %d", n, i)); err != nil {
					t.Error(err)
				}
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	read := func(file string) string {
		c, err := store.Open(ctx, backing.Key("memories/m").Join(file), "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		text := make([]byte, c.Size())
		if _, err := c.ReadAt(text, 0); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if doc, shot := read(contextFile), read(snapshotFile); shot != string(snapshotOf(doc)) {
		t.Errorf("the document is %q, its snapshot %s", doc, shot)
	}
}

// apart is a store without files, which puts in one step.
type apart struct{ backing.Store }

func (apart) Shared() {}
