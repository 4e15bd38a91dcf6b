package entries

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/codec"
	"ctxfs/room"
)

const (
	one   = "alice/20260221T143022-one.md"
	two   = "alice/20260221T143023-two.md"
	valid = "---\nagent: alice\nsessionId: s1\ntimestamp: 2026-02-21T14:30:22Z\ntype: finding\ntags: [a]\n---\n\n# One\n\nText.\n"
)

var (
	ctx   = context.Background()
	alice = room.Caller{PID: 0, Agent: "alice", Session: "s1"}
	bob   = room.Caller{PID: 0, Agent: "bob", Session: "s2"}
)

// faulty is a real store whose puts a test can disturb.
type faulty struct {
	*localdir.Store
	mu  sync.Mutex
	put func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error)
}

func (f *faulty) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	f.mu.Lock()
	hook := f.put
	f.mu.Unlock()
	put := func() (backing.Meta, error) { return f.Store.Put(ctx, key, r, o) }
	if hook == nil {
		return put()
	}
	return hook(key, put)
}

func (f *faulty) onPut(hook func(backing.Key, func() (backing.Meta, error)) (backing.Meta, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put = hook
}

// bench is a room on a real store in a directory, with a clock that a test
// moves.
type bench struct {
	*Entries
	t       *testing.T
	dir     string
	store   *faulty
	journal *room.Journal
	mu      sync.Mutex
	clock   time.Time
	dead    map[uint32]bool
}

func newBench(t *testing.T) *bench { return newBenchIn(t, t.TempDir(), false) }

func newBenchIn(t *testing.T, dir string, strict bool) *bench {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, store: &faulty{Store: store}, dead: map[uint32]bool{},
		clock: time.Date(2026, 2, 22, 10, 0, 0, 0, time.UTC)}
	b.journal = room.NewJournal(b.store)
	b.Entries, err = New(b.store, Options{Strict: strict, Log: log, Journal: b.journal, Now: b.at,
		Alive: func(pid uint32) bool { b.mu.Lock(); defer b.mu.Unlock(); return !b.dead[pid] }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	b.mkdir("alice")
	return b
}

// close ends the room and its store; a second call does nothing.
func (b *bench) close() {
	if b.Entries == nil {
		return
	}
	for path, drafts := range b.drafts {
		b.t.Errorf("%d drafts of %s are still open", len(drafts), path)
	}
	if err := errors.Join(b.Entries.Close(), b.store.Close()); err != nil {
		b.t.Error(err)
	}
	b.Entries = nil
}

// reopen starts anew on the same directory.
func (b *bench) reopen() *bench {
	b.close()
	return newBenchIn(b.t, b.dir, false)
}

func (b *bench) at() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clock
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock = b.clock.Add(d)
}

func (b *bench) mkdir(path string) {
	b.t.Helper()
	if _, err := b.MakeDir(ctx, alice, path, 0o755); err != nil && !errors.Is(err, backing.ErrExists) {
		b.t.Fatal(err)
	}
}

// draft opens path as open(2) does; trunc is O_TRUNC.
func (b *bench) draft(c room.Caller, path string, trunc bool) *draft {
	b.t.Helper()
	f, _, err := b.Write(ctx, c, path, room.Create{New: true, Mode: 0o644})
	if err != nil {
		b.t.Fatal(err)
	}
	d := f.(*draft)
	if trunc {
		b.ok(d.Truncate(0))
	}
	return d
}

// save is `cat > path`: with what close returned.
func (b *bench) save(c room.Caller, path, content string) error {
	b.t.Helper()
	d := b.draft(c, path, true)
	_, err := d.WriteAt([]byte(content), 0)
	if err == nil {
		err = d.Commit(ctx)
	}
	if err != nil {
		d.Refuse(ctx, err)
	}
	b.ok(d.Close())
	return err
}

func (b *bench) mustSave(c room.Caller, path, content string) {
	b.t.Helper()
	b.ok(b.save(c, path, content))
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// write makes an ordinary file through the room.
func (b *bench) write(path, content string, mode os.FileMode) {
	b.t.Helper()
	f, info, err := b.Write(ctx, alice, path, room.Create{New: true, Mode: mode, Flags: syscall.O_RDWR | syscall.O_TRUNC})
	b.ok(err)
	if info.Kind != room.Plain {
		b.t.Fatalf("%s is of kind %d, want an ordinary file", path, info.Kind)
	}
	_, err = f.WriteAt([]byte(content), 0)
	b.ok(errors.Join(err, f.Close()))
}

// read is what a reader of path sees.
func (b *bench) read(path string) string {
	b.t.Helper()
	info, err := b.Stat(ctx, path)
	b.ok(err)
	c, err := b.Entries.Read(ctx, path, info.Revision)
	b.ok(err)
	defer c.Close()
	p := make([]byte, c.Size())
	if _, err := io.ReadFull(io.NewSectionReader(c, 0, c.Size()), p); err != nil {
		b.t.Fatal(err)
	}
	return string(p)
}

func (b *bench) want(path, content string) {
	b.t.Helper()
	if got := b.read(path); got != content {
		b.t.Errorf("%s holds\n%q\nwant\n%q", path, got, content)
	}
}

func (b *bench) wantGone(path string) {
	b.t.Helper()
	if info, err := b.Stat(ctx, path); !errors.Is(err, backing.ErrNotFound) {
		b.t.Errorf("%s is there: %+v, %v", path, info, err)
	}
}

// wantVersions checks how many versions of path are kept.
func (b *bench) wantVersions(path string, n int) {
	b.t.Helper()
	versions, err := b.store.Versions(ctx, backing.Key(path))
	b.ok(err)
	if len(versions) != n {
		b.t.Errorf("%s has %d kept versions, want %d", path, len(versions), n)
	}
}

// changelog is the lines of path's changelog.
func (b *bench) changelog(path string) []string {
	b.t.Helper()
	return codec.ChangelogLines([]byte(b.read(path)))
}

func (b *bench) wantChangelog(path string, parts ...string) {
	b.t.Helper()
	lines := b.changelog(path)
	if len(lines) != len(parts) {
		b.t.Fatalf("the changelog of %s has %d lines, want %d:\n%s", path, len(lines), len(parts), strings.Join(lines, "\n"))
	}
	for i, part := range parts {
		if !strings.Contains(lines[i], part) {
			b.t.Errorf("line %d of the changelog is %q, want %q in it", i+1, lines[i], part)
		}
	}
}

func (b *bench) names(dir string) []string {
	b.t.Helper()
	infos, err := b.List(ctx, dir, "", 1000)
	b.ok(err)
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names
}

// onDisk puts a file into the store's directory, as another program would.
func (b *bench) onDisk(path, content string) {
	b.t.Helper()
	full := filepath.Join(b.dir, path)
	b.ok(os.MkdirAll(filepath.Dir(full), 0o755))
	b.ok(os.WriteFile(full, []byte(content), 0o644))
}

// wantErrno checks that err is a refusal with errno, reason and fix.
func wantErrno(t *testing.T, err error, errno syscall.Errno) {
	t.Helper()
	var r *codec.Refusal
	switch {
	case !errors.As(err, &r):
		t.Fatalf("got %v, want a refusal with %v", err, errno)
	case r.Errno != errno:
		t.Errorf("refused with %v, want %v: %v", r.Errno, errno, r)
	case r.Path == "" || r.Reason == "" || r.Fix == "":
		t.Errorf("the refusal does not say what, why and how to mend it: %+v", r)
	}
}
