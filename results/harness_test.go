package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
	start = time.Date(2026, 2, 22, 10, 0, 0, 0, time.UTC)
)

// bench is a room on a real store.
type bench struct {
	*Results
	t       testing.TB
	dir     string
	room    room.Room
	journal *room.Journal
	end     func() error
}

func newBench(t testing.TB) *bench { return newBenchIn(t, t.TempDir(), 0) }

func newBenchIn(t testing.TB, dir string, memory int64) *bench {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, journal: room.NewJournal(store)}
	b.Results, err = Open(ctx, store, Options{Now: func() time.Time { return start }, Log: log, Journal: b.journal, MemoryTotal: memory})
	if err != nil {
		t.Fatal(err)
	}
	b.room = b.Room()
	b.end = func() error { return errors.Join(b.Results.Close(), store.Close()) }
	t.Cleanup(b.close)
	return b
}

// close ends the room, checks that it left nothing, and ends the store.
func (b *bench) close() {
	if b.end == nil {
		return
	}
	if n := len(b.index.drafts); n > 0 {
		b.t.Errorf("drafts of %d results are still open", n)
	}
	b.ok(b.end())
	b.end = nil
	if left := b.onDisk(); len(left) > 0 {
		b.t.Errorf("Close left %v", left)
	}
	if s := b.Status(); s != (Status{}) {
		b.t.Errorf("after Close there is %+v", s)
	}
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// onDisk are the files in the store's directory.
func (b *bench) onDisk() []string {
	b.t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, roomDir))
	b.ok(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// draft opens a result as `> name` does.
func (b *bench) draft(name string) *draft {
	b.t.Helper()
	f, _, err := b.room.Write(ctx, alice, name, room.Create{New: true, Mode: 0o640})
	b.ok(err)
	d := f.(*draft)
	b.ok(d.Truncate(0))
	return d
}

// save is `cat > name`: what the write or the close says. What is refused is
// told to the draft, as the mount does.
func (b *bench) save(name, content string) error {
	b.t.Helper()
	d := b.draft(name)
	_, err := io.Copy(io.NewOffsetWriter(d, 0), strings.NewReader(content))
	if err == nil {
		err = d.Commit(ctx)
	}
	if err != nil {
		d.Refuse(ctx, err)
	}
	b.ok(d.Close())
	return err
}

func (b *bench) content(name string) string {
	b.t.Helper()
	c, err := b.room.Read(ctx, name, "")
	b.ok(err)
	return readAll(b.t, c)
}

func readAll(t testing.TB, c backing.Content) string {
	t.Helper()
	text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names are what `ls -A` shows.
func (b *bench) names() []string {
	b.t.Helper()
	var names []string
	for after := ""; ; {
		page, err := b.room.List(ctx, "", after, 3)
		b.ok(err)
		for _, info := range page {
			names = append(names, info.Name)
			after = info.Name
		}
		if len(page) < 3 {
			return names
		}
	}
}

// plain writes an ordinary file.
func (b *bench) plain(name, content string) {
	b.t.Helper()
	f, info, err := b.room.Write(ctx, alice, name, room.Create{New: true, Mode: 0o600, Flags: syscall.O_WRONLY | syscall.O_TRUNC})
	b.ok(err)
	if info.Kind != room.Plain {
		b.t.Fatalf("%s is of kind %d", name, info.Kind)
	}
	_, err = f.WriteAt([]byte(content), 0)
	b.ok(errors.Join(err, f.Close()))
}

// grepOf is a valid result of grep in session s1 with size bytes of text in it.
func grepOf(size int) string {
	return fmt.Sprintf(`{"toolName":"grep","args":{"query":"TODO"},"result":%q,"timestamp":"2024-01-15T10:30:00Z","queryId":"q","sessionId":"s1"}`,
		strings.Repeat("x", size)) + "\n"
}

// refused checks that err is a refusal with this errno that says something of
// what, in its text or in the journal.
func (b *bench) refused(err error, errno syscall.Errno, what string) {
	b.t.Helper()
	var r *codec.Refusal
	if !errors.As(err, &r) || r.Errno != errno || !strings.Contains(r.Error(), what) || r.Fix == "" {
		b.t.Fatalf("got %v, want a refusal with %v that says %q", err, errno, what)
	}
	if !strings.Contains(string(b.journal.Last()), r.Path) {
		b.t.Errorf("the journal knows nothing of %s: %s", r.Path, b.journal.Last())
	}
}
