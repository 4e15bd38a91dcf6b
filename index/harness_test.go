package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/backing/localdir"
	"ctxfs/entries"
	"ctxfs/room"
)

var ctx = context.Background()

// patience is how long a test waits for what comes from a watch.
const patience = time.Minute

// bench is a room on a real store with its index.
type bench struct {
	t     testing.TB
	dir   string
	store *localdir.Store
	room  *entries.Entries
	*Index
}

func newBench(t testing.TB) *bench { return openBench(t, t.TempDir()) }

func openBench(t testing.TB, dir string) *bench { return openAskedBench(t, dir, nil) }

func openAskedBench(t testing.TB, dir string, asked func() int64) *bench {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	e, err := entries.New(store, entries.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, store: store, room: e}
	b.Index = Open(b.file(), e, Options{Log: log, Asked: asked})
	t.Cleanup(b.close)
	return b
}

func (b *bench) file() string { return filepath.Join(b.dir, ".ctxfs/index.sqlite") }

func (b *bench) close() {
	if b.Index == nil {
		return
	}
	if err := errors.Join(b.Index.Close(), b.room.Close(), b.store.Close()); err != nil {
		b.t.Error(err)
	}
	b.Index = nil
}

// reopen starts anew on the same directory, after between.
func (b *bench) reopen(between func()) *bench {
	b.close()
	between()
	return openBench(b.t, b.dir)
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// save commits an entry through the room; fields are lines of frontmatter.
func (b *bench) save(path, fields, body string) {
	b.t.Helper()
	parts := strings.Split(filepath.Dir(path), "/")
	for i := range parts {
		_, err := b.room.MakeDir(ctx, room.Caller{}, strings.Join(parts[:i+1], "/"), 0o755)
		if err != nil && !errors.Is(err, os.ErrExist) {
			b.t.Fatal(err)
		}
	}
	f, _, err := b.room.Write(ctx, room.Caller{Agent: parts[0]}, path, room.Create{New: true, Mode: 0o644})
	b.ok(err)
	d := f.(room.Draft)
	b.ok(d.Truncate(0))
	_, err = d.WriteAt([]byte(content(fields, body)), 0)
	b.ok(err)
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
}

func content(fields, body string) string {
	if !strings.Contains(fields, "type:") {
		fields = "type: finding\n" + fields
	}
	return "---\n" + fields + "---\n\n" + body + "\n"
}

// outside writes a file of the store as another program does.
func (b *bench) outside(path, text string) {
	b.t.Helper()
	full := filepath.Join(b.dir, path)
	b.ok(os.MkdirAll(filepath.Dir(full), 0o755))
	b.ok(os.WriteFile(full, []byte(text), 0o644))
}

// find returns the paths that q finds now.
func (b *bench) find(q Query) []string {
	b.t.Helper()
	b.settled()
	hits, err := b.Search(ctx, q)
	if err != nil {
		b.t.Fatalf("%+v: %v", q, err)
	}
	paths := []string{}
	for _, h := range hits {
		paths = append(paths, h.Path)
	}
	return paths
}

// settled waits until the index has what was committed before.
func (b *bench) settled() {
	b.t.Helper()
	b.until("the index follows", func() bool { s := b.Status(ctx); return !s.Building && s.Error == "" })
}

// until waits for cond.
func (b *bench) until(what string, cond func() bool) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			b.t.Fatalf("not within %v: %s; %+v", patience, what, b.Status(ctx))
		}
	}
}

// at is the path of an entry of alice.
func at(second int, slug string) string {
	return fmt.Sprintf("alice/20260221T1430%02d-%s.md", second, slug)
}

func (b *bench) wants(q Query, want ...string) {
	b.t.Helper()
	got := b.find(q)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		b.t.Errorf("%+v\n found %q\nwanted %q", q, got, want)
	}
}
