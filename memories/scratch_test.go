package memories

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

// scratch writes an ordinary file.
func (b *bench) scratch(path, text string) {
	b.t.Helper()
	f, info, err := b.Write(ctx, alice, path, room.Create{New: true, Mode: 0o600, Flags: syscall.O_RDWR})
	if err != nil {
		b.t.Fatalf("open %s: %v", path, err)
	}
	if info.Kind != room.Plain {
		b.t.Fatalf("%s is %v", path, info.Kind)
	}
	_, err = f.WriteAt([]byte(text), 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// The names that libraries and editors give what they rename onto a file.
func TestWriteThenRenameIsADurableSave(t *testing.T) {
	for _, name := range []string{"context.md.tmp", "context.md.1234567", "sedXyZ012", ".context.md.swp", "context.md.tmp.12.34", "context.json.tmp"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, quick())
			b.put("m1", "old")
			b.await("m1")
			b.scratch("m1/"+name, "new text")
			if got := b.names("m1"); !strings.Contains(" "+got+" ", " "+name+" ") {
				t.Fatalf("listed %q", got)
			}
			b.put("m1", "meanwhile") // the worker's own temporaries are others
			b.await("m1")
			if got := b.read("m1/" + name); got != "new text" {
				t.Fatalf("%s is %q", name, got)
			}
			if err := b.Rename(ctx, alice, "m1/"+name, "m1/context.md", 0); err != nil {
				t.Fatal(err)
			}
			b.wantContext("m1", "new text")
			b.wantFile("memories/m1/context.md", "new text")
			b.wantFile("memories/m1/context.json", `{"activeContext":"new text"}`)
			if got := b.names("m1"); got != "context.json context.md" {
				t.Fatalf("left: %q", got)
			}
		})
	}
}

func TestRenameThatIsRefusedLeavesTheFile(t *testing.T) {
	o := quick()
	o.MaxChars = 5
	b := newBench(t, o)
	b.put("m1", "old")
	b.scratch("m1/x", "too long")
	wantRefusal(t, b.Rename(ctx, alice, "m1/x", "m1/context.md", 0), syscall.EFBIG)
	b.wantFile("memories/m1/x", "too long")
	b.wantContext("m1", "old")
	b.scratch("m1/y", "ok")
	if err := b.Rename(ctx, alice, "m1/y", "m1/context.md", unix.RENAME_NOREPLACE); !errors.Is(err, backing.ErrExists) {
		t.Fatalf("got %v", err)
	}
	wantRefusal(t, b.Rename(ctx, alice, "m1/y", "m1/context.md", unix.RENAME_EXCHANGE), syscall.EPERM)
	if err := b.Rename(ctx, alice, "m1/y", "m2/context.md", 0); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("into a memory that is none: %v", err)
	}
}

// vim: rename to the backup, create, write, fsync, unlink the backup.
func TestEditorsBackupDanceWorks(t *testing.T) {
	b := newBench(t, quick())
	g := b.gate("rename", "memories/m1/context.md")
	b.put("m1", "old")
	within(t, g.reached, "the worker")
	g.release()
	if err := b.Rename(ctx, alice, "m1/context.md", "m1/context.md~", 0); err != nil {
		t.Fatal(err)
	}
	b.wantFile("memories/m1/context.md~", "old")
	if _, err := b.Stat(ctx, "m1/context.md"); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	d := b.draft("m1/context.md")
	_, err := d.WriteAt([]byte("new"), 0)
	if err := errors.Join(err, d.Sync(), d.Close(), b.Remove(ctx, alice, "m1/context.md~")); err != nil {
		t.Fatal(err)
	}
	b.wantContext("m1", "new")
	if got := b.names("m1"); got != "context.json context.md" {
		t.Fatalf("left: %q", got)
	}
}

func TestContextMovesToNoOtherMemory(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "one")
	b.put("m2", "two")
	if err := b.Rename(ctx, alice, "m1/context.md", "m2/context.md", 0); !errors.Is(err, syscall.EXDEV) {
		t.Fatalf("got %v", err)
	}
	b.wantContext("m2", "two")
}

func TestOrdinaryFilesAreOrdinary(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	b.scratch("m1/a", "text")
	if err := b.Rename(ctx, alice, "m1/a", "m1/context.json.tmp", 0); err == nil {
		b.wantNoFile("memories/m1/context.json.tmp")
	} else {
		t.Fatal(err)
	}
	if err := b.Rename(ctx, alice, "m1/context.json.tmp", "m1/b", 0); err != nil {
		t.Fatal(err)
	}
	if got := b.read("m1/b"); got != "text" {
		t.Fatalf("read %q", got)
	}
	if _, _, err := b.Write(ctx, alice, "m1/b", room.Create{New: true, Exclusive: true}); !errors.Is(err, backing.ErrExists) {
		t.Fatalf("got %v", err)
	}
	if _, err := b.Symlink(ctx, alice, "me@host.1", "m1/.#context.md"); err != nil {
		t.Fatal(err)
	}
	if target, err := b.Readlink(ctx, "m1/.#context.md"); err != nil || target != "me@host.1" {
		t.Fatalf("%s, %v", target, err)
	}
	_, err := b.Symlink(ctx, alice, "/etc/passwd", "m1/link")
	wantRefusal(t, err, syscall.EPERM)
	for _, name := range []string{"m1/.#context.md", "m1/b"} {
		if err := b.Remove(ctx, alice, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.RemoveDir(ctx, alice, "m1"); err != nil {
		t.Fatal(err)
	}
}
