package memories

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/room"
)

// sharing is a store that says that others write it too.
type sharing struct{ *localdir.Store }

func (sharing) Shared() {}

func TestHostsThatPutAContextAgreeOnItsSnapshot(t *testing.T) {
	store := local(t)
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

// meanwhile is a store in which something happens before its first put.
type meanwhile struct {
	*localdir.Store
	do func()
}

func (m *meanwhile) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.Store.Put(ctx, key, r, o)
}

func TestAMendLeavesTheSnapshotThatAnotherHostPutsMeanwhile(t *testing.T) {
	for _, old := range []string{"", `{"activeContext":"older"}`} {
		local, err := localdir.Open(t.TempDir(), localdir.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		put := func(file, text string) {
			if _, err := local.Put(ctx, backing.Key("memories/m").Join(file), strings.NewReader(text), backing.PutOptions{}); err != nil {
				t.Error(err)
			}
		}
		for _, dir := range []backing.Key{"memories", "memories/m"} {
			if _, err := local.MakeDir(ctx, dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		put(contextFile, "old")
		if old != "" {
			put(snapshotFile, old)
		}
		s := &meanwhile{local, func() {
			put(contextFile, "new")
			put(snapshotFile, string(snapshotOf("new")))
		}}
		err = CheckStore(ctx, s, false, func(p room.Problem) {
			if _, err := p.Mend(ctx); err != nil {
				t.Error(err)
			}
		})
		if err != nil || s.do != nil {
			t.Errorf("%v; nothing was mended: %v", err, s.do != nil)
		}
		c := &checking{Memories: &Memories{store: local, top: roomDir}}
		if text, err := c.readAll(ctx, c.key("m", snapshotFile)); err != nil || string(text) != string(snapshotOf("new")) {
			t.Errorf("the snapshot is %s, %v", text, err)
		}
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	}
}
