package invocations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/codec"
	"ctxfs/room"
)

var (
	ctx   = context.Background()
	alice = room.Caller{Agent: "alice"}
	start = time.Date(2026, 2, 22, 10, 0, 0, 0, time.UTC)
	newID = func() uuid.UUID { return uuid.MustParse("00000000-0000-4000-8000-000000000001") }
	now   = func() time.Time { return start }
)

// filled ends a line in which success, timestamp and id were missing.
const filled = `,"success":true,"timestamp":"2026-02-22T10:00:00Z","id":"00000000-0000-4000-8000-000000000001"}` + "\n"

// call is a line without its brace and what is filled in.
func call(n int) string { return fmt.Sprintf(`{"tool_name":"t%d","params":{},"result":%d`, n, n) }

// bench is a history on a real store.
type bench struct {
	*History
	t       testing.TB
	dir     string
	room    room.Room
	journal *room.Journal
	end     func() error
}

func newBench(t testing.TB) *bench { return newBenchIn(t, t.TempDir()) }

func newBenchIn(t testing.TB, dir string) *bench {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, journal: room.NewJournal(store)}
	b.History, err = Open(ctx, store, Options{Now: now, NewID: newID, Log: log, Journal: b.journal})
	if err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	b.room = b.Room()
	b.end = func() error { return errors.Join(b.History.Close(), store.Close()) }
	t.Cleanup(b.close)
	return b
}

func (b *bench) close() {
	if b.end == nil {
		return
	}
	b.ok(b.end())
	b.end = nil
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, roomDir, name) }

// stored is what a file in the store holds, "" where there is none.
func (b *bench) stored(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(text)
}

// holds checks the history's content.
func (b *bench) holds(want ...string) {
	b.t.Helper()
	if got := b.stored(fileName); got != strings.Join(want, "") {
		b.t.Fatalf("the history is\n%swant\n%s", got, strings.Join(want, ""))
	}
}

// open opens the history as open(2) does.
func (b *bench) open(flags int) *handle {
	b.t.Helper()
	f, info, err := b.room.Write(ctx, alice, fileName, room.Create{New: flags&syscall.O_CREAT != 0, Flags: flags})
	b.ok(err)
	if _, ok := f.(backing.File); !ok || info.Kind != room.Plain {
		b.t.Fatalf("opened %T of kind %d", f, info.Kind)
	}
	return f.(*handle)
}

// echo is `echo text >> context.jsonl`.
func (b *bench) echo(text string) error {
	b.t.Helper()
	f := b.open(syscall.O_WRONLY | syscall.O_APPEND | syscall.O_CREAT)
	_, err := f.WriteAt([]byte(text), 0)
	return errors.Join(err, f.Close())
}

// refused checks that err is a refusal with this errno that says what, and
// that the journal has it.
func (b *bench) refused(err error, errno syscall.Errno, what string) {
	b.t.Helper()
	var r *codec.Refusal
	if !errors.As(err, &r) || r.Errno != errno || !strings.Contains(r.Error(), what) || r.Fix == "" {
		b.t.Fatalf("got %v, want a refusal with %v that says %q", err, errno, what)
	}
	if !strings.Contains(string(b.journal.Last()), `"reason":`) {
		b.t.Errorf("the journal knows nothing of it: %s", b.journal.Last())
	}
}
