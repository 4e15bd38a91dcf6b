package housekeeping

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/archive"
	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/entries"
)

// disturbed is a store that a test can disturb at a put.
type disturbed struct {
	*localdir.Store
	onPut func(text []byte) []byte // what is put instead of text; nil is text
}

func (s *disturbed) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	if s.onPut == nil || key.Dir() != archive.Dir {
		return s.Store.Put(ctx, key, r, o)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return backing.Meta{}, err
	}
	return s.Store.Put(ctx, key, bytes.NewReader(s.onPut(text)), o)
}

type bench struct {
	*Keeper
	t     *testing.T
	dir   string
	store *disturbed
	told  []string // paths that come or go
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	store, err := localdir.Open(dir, localdir.Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, store: &disturbed{Store: store}}
	at := func() time.Time { return now }
	e, err := entries.New(b.store, entries.Options{Log: quiet, Now: at})
	b.ok(err)
	b.Keeper = &Keeper{Store: b.store, Entries: e, Now: at}
	t.Cleanup(func() { b.ok(errors.Join(e.Close(), store.Close())) })
	return b
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// put lays a file into the store that is so many days old.
func (b *bench) put(path, text string, days int) {
	b.t.Helper()
	full := filepath.Join(b.dir, path)
	at := now.Add(-time.Duration(days) * 24 * time.Hour)
	b.ok(os.MkdirAll(filepath.Dir(full), 0o755))
	b.ok(os.WriteFile(full, []byte(text), 0o640))
	b.ok(os.Chtimes(full, at, at))
}

func entry(fields string) string {
	return "---\nagent: alice\ntimestamp: 2026-01-01T00:00:00Z\ntype: finding\ntags: []\n" + fields + "---\n# X\n"
}

// do is Do, with what it told but for progress.
func (b *bench) do(r Request) (events []Event, err error) {
	b.t.Helper()
	b.told = nil
	err = b.Do(b.t.Context(), r, func(e Event) error {
		if e.Progress == nil {
			events = append(events, e)
		}
		return nil
	}, func(path string) { b.told = append(b.told, path) })
	return events, err
}

// done is what a request that succeeds comes to.
func (b *bench) done(r Request) Done {
	b.t.Helper()
	events, err := b.do(r)
	b.ok(err)
	last := events[len(events)-1]
	if last.Done == nil {
		b.t.Fatalf("the last event is %+v", last)
	}
	return *last.Done
}

// files are all files of the store but its own small ones, with mode and
// content.
func (b *bench) files() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	b.ok(filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(b.dir, path)
		if err != nil || d.IsDir() || rel == ".ctxfs/lock" || rel == ".ctxfs/layout" || strings.HasPrefix(rel, string(archive.Dir)) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		all[rel] = info.Mode().String() + " " + string(text)
		return err
	}))
	return all
}

func (b *bench) want(files map[string]string) {
	b.t.Helper()
	if got := b.files(); !maps.Equal(got, files) {
		b.t.Errorf("the store holds %q,\nwant %q", got, files)
	}
}
