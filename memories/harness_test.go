package memories

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/codec"
	"ctxfs/room"
)

var (
	ctx   = context.Background()
	alice = room.Caller{Agent: "alice", Session: "s1"}
)

// bench is a room on a real store in a directory.
type bench struct {
	*Memories
	t       testing.TB
	dir     string
	disk    *disk
	journal *room.Journal
}

// quick are options whose waits a test does not notice.
func quick() Options {
	fast := Backoff{First: time.Millisecond, Max: 20 * time.Millisecond}
	return Options{Queue: ExecutorOptions{Backoff: fast, EnqueueTimeout: 5 * time.Second},
		BackendRetry: fast, BackendTimeout: 2 * time.Second}
}

func newBench(t testing.TB, o Options) *bench { return benchIn(t, t.TempDir(), o) }

func benchIn(t testing.TB, dir string, o Options) *bench {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, disk: &disk{Store: store}}
	b.journal = room.NewJournal(b.disk)
	o.Log, o.Journal = log, b.journal
	b.Memories, err = Open(b.disk, o)
	if err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	t.Cleanup(b.close)
	return b
}

// close ends the memories and the store; a second call does nothing.
func (b *bench) close() {
	if b.Memories == nil {
		return
	}
	b.disk.disturb(nil)
	if err := errors.Join(b.Close(), b.disk.Close()); err != nil {
		b.t.Error(err)
	}
	b.Memories = nil
}

func (b *bench) put(memory, text string) {
	b.t.Helper()
	if err := b.PutContext(ctx, memory, text); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) await(memory string) {
	b.t.Helper()
	if err := b.AwaitConsistency(ctx, memory); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) add(memory, entry string) string {
	b.t.Helper()
	id, err := b.AddEntry(ctx, memory, []byte(entry))
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bench) wantContext(memory, want string) {
	b.t.Helper()
	got, err := b.GetContext(ctx, memory)
	if err != nil || got != want {
		b.t.Fatalf("context of %s is %q, %v; want %q", memory, got, err, want)
	}
}

// file is what lies in the store.
func (b *bench) file(path string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, path))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bench) wantFile(path, want string) {
	b.t.Helper()
	if got := b.file(path); got != want {
		b.t.Fatalf("%s is %q, want %q", path, got, want)
	}
}

func (b *bench) wantNoFile(path string) {
	b.t.Helper()
	if _, err := os.Stat(filepath.Join(b.dir, path)); !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatalf("%s: %v, want no such file", path, err)
	}
}

// gate blocks the calls that match until it is released, at the latest with
// the end of the test.
type gate struct {
	open    chan struct{}
	reached chan struct{} // gets a value for each call that waits
	release func()
}

// pass lets one call through.
func (g *gate) pass() { g.open <- struct{}{} }

func (b *bench) gate(op string, key backing.Key) *gate {
	g := &gate{open: make(chan struct{}), reached: make(chan struct{}, 1000)}
	g.release = sync.OnceFunc(func() { close(g.open) })
	b.t.Cleanup(g.release)
	b.disk.disturb(func(o string, k backing.Key) error {
		if o == op && k == key {
			g.reached <- struct{}{}
			<-g.open
		}
		return nil
	})
	return g
}

// within fails the test when ch has nothing after a while.
func within[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain for %s", what)
	}
	panic("unreachable")
}

// wantRefusal checks that err is a refusal with errno that says why.
func wantRefusal(t testing.TB, err error, errno syscall.Errno) *codec.Refusal {
	t.Helper()
	var r *codec.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a refusal", err)
	}
	if r.Errno != errno || r.Reason == "" || r.Fix == "" {
		t.Fatalf("refused with %v, reason %q, fix %q; want %v and both", r.Errno, r.Reason, r.Fix, errno)
	}
	return r
}

// fail makes the calls that match fail.
func (b *bench) fail(op string, key backing.Key, err error) {
	b.disk.disturb(func(o string, k backing.Key) error {
		if o == op && k == key {
			return err
		}
		return nil
	})
}

// readOnly opens the store in dir without writing to it.
func readOnly(t *testing.T, dir string) *bench {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{ReadOnly: true, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, disk: &disk{Store: store}}
	if b.Memories, err = Open(b.disk, Options{Log: log, Backend: "http://127.0.0.1:1/"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}
