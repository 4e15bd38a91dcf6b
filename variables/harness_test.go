package variables

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/codec"
	"ctxfs/room"
)

var bg = context.Background()

// watched is a store that counts what is read, and fails puts on demand.
func (w *watched) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	if w.full.Load() {
		return backing.Meta{}, syscall.ENOSPC
	}
	if w.die() {
		return backing.Meta{}, errKilled
	}
	m, err := w.Store.Put(ctx, key, r, o)
	if err == nil && w.lost.Add(-1) >= 0 {
		return backing.Meta{}, backing.ErrUnknown
	}
	return m, err
}

// world is a store with its variables, which a test may restart.
type world struct {
	*Variables
	t     testing.TB
	dir   string
	store *watched
	o     Options
}

func openWorld(t testing.TB, o Options) *world {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &world{t: t, dir: t.TempDir(), o: o}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *world) start() {
	w.t.Helper()
	s, err := localdir.Open(w.dir, localdir.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = &watched{Store: s}
	w.store.lost.Store(0)
	if w.Variables, err = New(w.store, w.o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) stop() {
	w.t.Helper()
	if err := errors.Join(w.Close(), w.store.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// restart closes and opens again.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

// crash opens the store again as a kill would leave it: nothing is closed
// but the lock.
func (w *world) crash() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

func (w *world) file(path string) string { return filepath.Join(w.dir, "vars", path) }

func (w *world) onDisk(path string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.file(path))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) set(scope Scope, key, text string) Ref {
	w.t.Helper()
	ref, err := w.Set(bg, key, text, SetOptions{Scope: scope})
	if err != nil {
		w.t.Fatalf("set %s/%s: %v", scope, key, err)
	}
	return ref
}

func (w *world) want(scope Scope, key, text string) {
	w.t.Helper()
	got, err := w.Get(bg, scope, key)
	if err != nil {
		w.t.Fatalf("get %s/%s: %v", scope, key, err)
	}
	if string(got) != text {
		w.t.Fatalf("%s/%s is %.80q, want %.80q", scope, key, got, text)
	}
}

func (w *world) wantNone(scope Scope, key string) {
	w.t.Helper()
	if got, err := w.Get(bg, scope, key); !errors.Is(err, backing.ErrNotFound) {
		w.t.Fatalf("%s/%s is %.80q, %v; want nothing", scope, key, got, err)
	}
}

func (w *world) ref(scope Scope, key string) Ref {
	w.t.Helper()
	ref, err := w.Ref(bg, scope, key)
	if err != nil {
		w.t.Fatalf("ref %s/%s: %v", scope, key, err)
	}
	return ref
}

// wantRefusal checks that err explains itself.
func wantRefusal(t testing.TB, err error, errno syscall.Errno) *codec.Refusal {
	t.Helper()
	var r *codec.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("error %v, want a refusal with %v", err, errno)
	}
	if r.Errno != errno || r.Reason == "" || r.Fix == "" {
		t.Fatalf("refusal %+v, want %v with reason and fix", r, errno)
	}
	return r
}

// alice writes through the room.
var alice = room.Caller{Agent: "alice", Session: "s1"}

// create opens a new file for writing, as open(2) with O_CREAT does.
func (w *world) create(path string, flags int) room.File {
	w.t.Helper()
	f, _, err := w.Room().Write(bg, alice, path, room.Create{New: true, Mode: 0o644, Flags: flags | os.O_WRONLY})
	if err != nil {
		w.t.Fatalf("create %s: %v", path, err)
	}
	return f
}

// save writes text to path as `> path` does.
func (w *world) save(path, text string) error {
	w.t.Helper()
	f := w.create(path, os.O_TRUNC)
	_, err := f.WriteAt([]byte(text), 0)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.(room.Draft).Refuse(bg, err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
	return err
}

func (w *world) mustSave(path, text string) {
	w.t.Helper()
	if err := w.save(path, text); err != nil {
		w.t.Fatalf("save %s: %v", path, err)
	}
}

func (w *world) read(r room.Room, path string) string {
	w.t.Helper()
	c, err := r.Read(bg, path, "")
	if err != nil {
		w.t.Fatalf("read %s: %v", path, err)
	}
	text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	if err := errors.Join(err, c.Close()); err != nil {
		w.t.Fatalf("read %s: %v", path, err)
	}
	return string(text)
}

// names lists a directory of the room in pages of three.
func (w *world) names(r room.Room, dir string) []string {
	w.t.Helper()
	var names []string
	for after := ""; ; {
		page, err := r.List(bg, dir, after, 3)
		if err != nil {
			w.t.Fatalf("list %s: %v", dir, err)
		}
		for _, i := range page {
			after = i.Name
			names = append(names, i.Name)
		}
		if len(page) < 3 {
			return names
		}
	}
}

// clock is a time that a test moves.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 2, 21, 14, 30, 22, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// withDeadline returns a context that ends a test which waits in vain.
func withDeadline(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, 20*time.Second)
	t.Cleanup(cancel)
	return ctx, cancel
}
