package memories

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

func TestCloseOfADraftQueuesAndReadersSeeItAtOnce(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	g := b.gate("rename", "memories/m1/context.md")
	if err := b.save("m1/context.md", "first"); err != nil {
		t.Fatal(err)
	}
	within(t, g.reached, "the worker")
	if err := b.save("m1/context.md", "second!"); err != nil {
		t.Fatal(err)
	}
	b.wantNoFile("memories/m1/context.md")
	if got := b.read("m1/context.md"); got != "second!" {
		t.Fatalf("read %q", got)
	}
	if got := b.read("m1/context.json"); got != `{"activeContext":"second!"}` {
		t.Fatalf("read %q", got)
	}
	if got := b.names("m1"); got != "context.json context.md" {
		t.Fatalf("listed %q", got)
	}
	queued, err := b.Stat(ctx, "m1/context.md")
	if err != nil {
		t.Fatal(err)
	}
	g.release()
	b.await("m1")
	// Its arrival on the disk is no change.
	if now, err := b.Stat(ctx, "m1/context.md"); err != nil || now != queued {
		t.Fatalf("was %+v, is %+v, %v", queued, now, err)
	}
	if got := b.read("m1/context.md"); got != "second!" {
		t.Fatalf("read %q", got)
	}
	b.wantFile("memories/m1/context.md", "second!")
}

func TestFsyncOfADraftIsAwaitConsistency(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	g := b.gate("rename", "memories/m1/context.md")
	b.put("m1", "before")
	within(t, g.reached, "the worker")
	d := b.draft("m1/context.md")
	if _, err := d.WriteAt([]byte("text"), 0); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Sync() }()
	g.pass()
	within(t, g.reached, "the draft's text")
	select {
	case err := <-done:
		t.Fatalf("fsync returned %v while the disk had the old text", err)
	default:
	}
	g.release()
	if err := within(t, done, "fsync"); err != nil {
		t.Fatal(err)
	}
	b.wantFile("memories/m1/context.md", "text")
	if d.Changed() {
		t.Fatal("changed after fsync")
	}
}

func TestReaderKeepsWhatItOpened(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "one")
	c, err := b.Read(ctx, "m1/context.md", "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b.await("m1")
	b.put("m1", "another")
	b.await("m1")
	text := make([]byte, 3)
	if _, err := c.ReadAt(text, 0); err != nil || string(text) != "one" || c.Size() != 3 {
		t.Fatalf("%q, %v", text, err)
	}
}

func TestDraftBeginsWithTheNewestContentAndIsPrivate(t *testing.T) {
	b := newBench(t, quick())
	g := b.gate("rename", "memories/m1/context.md")
	b.put("m1", "queued")
	within(t, g.reached, "the worker")
	d := b.openFile("m1/context.md", room.Create{Flags: syscall.O_RDWR}).(room.Draft)
	if d.Changed() || d.Size() != 6 {
		t.Fatalf("changed %v, size %d", d.Changed(), d.Size())
	}
	if _, err := d.Append([]byte(" more")); err != nil {
		t.Fatal(err)
	}
	own := make([]byte, 11)
	if _, err := d.ReadAt(own, 0); err != nil || string(own) != "queued more" {
		t.Fatalf("%q, %v", own, err)
	}
	if got := b.read("m1/context.md"); got != "queued" {
		t.Fatalf("others read %q", got)
	}
	if err := d.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.read("m1/context.md"); got != "queued more" {
		t.Fatalf("read %q", got)
	}
	if info, err := b.Stat(ctx, "m1/context.md"); err != nil || info.Revision != d.Info().Revision {
		t.Fatalf("%+v, %v; the draft is %+v", info, err, d.Info())
	}
	g.release()
}

func TestRefusedDraftIsKeptBesideUntilAValidSave(t *testing.T) {
	o := quick()
	o.MaxChars = 10
	b := newBench(t, o)
	b.put("m1", "fine")
	err := b.save("m1/context.md", "too long a text")
	r := wantRefusal(t, err, syscall.EFBIG)
	if r.Path != "memories/m1/context.md" {
		t.Fatalf("refused at %s", r.Path)
	}
	if got := b.read("m1/context.md"); got != "fine" {
		t.Fatalf("read %q", got)
	}
	rej := b.file("memories/m1/context.md.rej")
	if !strings.HasPrefix(rej, "# ctxfs refused") || !strings.HasSuffix(rej, "\n\ntoo long a text") {
		t.Fatalf("%q", rej)
	}
	if !strings.Contains(string(b.journal.Last()), "EFBIG") {
		t.Fatalf("journal %s", b.journal.Last())
	}
	if err := b.save("m1/context.md", "short"); err != nil {
		t.Fatal(err)
	}
	b.wantNoFile("memories/m1/context.md.rej")
}

func TestDraftThatMeetsAFullQueueIsEAGAINAndKept(t *testing.T) {
	o := quick()
	o.Queue.Shards, o.Queue.Queue, o.Queue.EnqueueTimeout = 1, 1, time.Millisecond
	b := newBench(t, o)
	b.mkdir("m1")
	g := b.gate("rename", "memories/m1/context.md")
	b.put("m1", "1")
	within(t, g.reached, "the worker")
	b.put("m1", "2")
	if err := b.save("m1/context.md", "3"); !errors.Is(err, syscall.EAGAIN) {
		t.Fatalf("got %v", err)
	}
	if rej := b.file("memories/m1/context.md.rej"); !strings.HasSuffix(rej, "\n\n3") {
		t.Fatalf("%q", rej)
	}
	if got := b.read("m1/context.md"); got != "2" {
		t.Fatalf("read %q", got)
	}
	g.release()
}

func TestModeAndTimeOfADocument(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	d := b.draft("m1/context.md")
	_, err := d.WriteAt([]byte("text"), 0)
	mode, when := os.FileMode(0o600), time.Unix(1e9, 5)
	err = errors.Join(err, d.SetAttr(ctx, backing.AttrChange{Mode: &mode, ModTime: &when}), d.Sync())
	if err != nil {
		t.Fatal(err)
	}
	check := func(mode os.FileMode, when time.Time) {
		t.Helper()
		if info, err := b.Stat(ctx, "m1/context.md"); err != nil || info.Mode != mode || !info.ModTime.Equal(when) {
			t.Fatalf("%+v, %v", info, err)
		}
		info, err := os.Stat(filepath.Join(b.dir, "memories/m1/context.md"))
		if err != nil || info.Mode() != mode || !info.ModTime().Equal(when) {
			t.Fatalf("on disk %v, %v", info, err)
		}
	}
	check(0o600, when)
	mode = 0o640
	if err := d.SetAttr(ctx, backing.AttrChange{Mode: &mode}); err != nil {
		t.Fatal(err)
	}
	check(0o640, when)
	later := time.Unix(2e9, 0)
	if _, err := b.SetAttr(ctx, alice, "m1/context.md", backing.AttrChange{ModTime: &later}); err != nil {
		t.Fatal(err)
	}
	check(0o640, later)
	b.put("m1", "new")
	b.await("m1")
	if info, err := b.Stat(ctx, "m1/context.md"); err != nil || info.Mode != 0o640 {
		t.Fatalf("the next version has %+v, %v", info, err)
	}
}
