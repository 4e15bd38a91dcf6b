package entries

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/room"
)

func TestOnlyAgentsAndTheirFilesAreShown(t *testing.T) {
	b := newBench(t)
	b.onDisk(".git/config", "x")
	b.onDisk("README.md", "the user's")
	b.onDisk("vars/global", "x")
	b.onDisk("alice/s1/20260221T143022-in-session.md", valid)
	b.onDisk("alice/s1/deeper/20260221T143022-x.md", valid)
	b.onDisk("alice/.git/config", "x")
	b.onDisk("alice/notes.txt", "x")
	b.onDisk(one, "not valid, but there")
	b.ok(os.Symlink("/etc/passwd", filepath.Join(b.dir, "alice/20260221T143029-link.md")))
	b.ok(os.Symlink("/etc", filepath.Join(b.dir, "evil")))
	b.ok(os.Symlink("me@host.1", filepath.Join(b.dir, "alice/.#lock")))
	b.ok(syscall.Mkfifo(filepath.Join(b.dir, "alice/fifo"), 0o600))

	for dir, want := range map[string][]string{
		"":         {"alice"},
		"alice":    {".#lock", "20260221T143022-one.md", "notes.txt", "s1"},
		"alice/s1": {"20260221T143022-in-session.md"},
	} {
		if got := b.names(dir); !slices.Equal(got, want) {
			t.Errorf("%q lists %q, want %q", dir, got, want)
		}
	}
	for _, path := range []string{".git", "README.md", "vars", "evil", "evil/passwd", "alice/fifo", "alice/.git/config",
		"alice/s1/deeper", "alice/s1/deeper/20260221T143022-x.md", "alice/20260221T143029-link.md"} {
		if _, err := b.Stat(ctx, path); err == nil {
			t.Errorf("%s is shown", path)
		}
		if c, err := b.Entries.Read(ctx, path, ""); err == nil {
			t.Errorf("%s can be read: %d bytes", path, c.Size())
		}
	}
	b.want(one, "not valid, but there")
	if target, err := b.Readlink(ctx, "alice/.#lock"); err != nil || target != "me@host.1" {
		t.Errorf("the lock says %q, %v", target, err)
	}
}

func TestKindsOfNames(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.write("alice/notes.txt", "x", 0o644)
	for path, want := range map[string]room.Kind{"": room.Dir, "alice": room.Dir, one: room.Object, "alice/notes.txt": room.Plain} {
		if info, err := b.Stat(ctx, path); err != nil || info.Kind != want {
			t.Errorf("%q is of kind %d, %v; want %d", path, info.Kind, err, want)
		}
	}
}

func TestListPagesHoldEveryNameOnce(t *testing.T) {
	b := newBench(t)
	var want []string
	for i := range 20 {
		name := fmt.Sprintf("20260221T1430%02d-x.md", i)
		want = append(want, name)
		switch i % 3 {
		case 0:
			b.ok(b.draft(alice, "alice/"+name, false).Close()) // pending
		case 1:
			b.onDisk("alice/"+name, valid)
		default:
			b.mustSave(alice, "alice/"+name, valid)
		}
	}
	for _, limit := range []int{1, 2, 3, 7, 20, 50} {
		var got []string
		for after := ""; ; {
			page, err := b.List(ctx, "alice", after, limit)
			b.ok(err)
			for _, info := range page {
				got = append(got, info.Name)
				after = info.Name
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d list %q", limit, got)
		}
	}
}

func TestCommitInProgressBlocksNoReader(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	began, release := make(chan struct{}), make(chan struct{})
	b.store.onPut(func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		if string(key) == one {
			close(began)
			<-release
		}
		return put()
	})
	done := make(chan error)
	go func() { done <- b.save(alice, one, valid+"more\n") }()
	<-began
	b.want(one, valid)
	if names := b.names("alice"); len(names) != 1 {
		t.Errorf("lists %q", names)
	}
	b.mustSave(bob, two, valid) // nor does it block another commit
	close(release)
	b.ok(<-done)
}

func TestMakeDirRefusesWrongNames(t *testing.T) {
	b := newBench(t)
	b.mkdir("alice/s1")
	for path, errno := range map[string]syscall.Errno{
		"vars": syscall.EINVAL, ".ctxfs": syscall.EINVAL, "-x": syscall.EINVAL, "a b": syscall.EINVAL, "x.md": syscall.EINVAL,
		"alice/.hidden": syscall.EINVAL, "alice/20260221T143022-x.md": syscall.EINVAL, "alice/s1/deep": syscall.EPERM,
	} {
		_, err := b.MakeDir(ctx, alice, path, 0o755)
		wantErrno(t, err, errno)
	}
	if n := len(journalOf(t, b)); n != 8 {
		t.Errorf("the journal has %d refusals, want 8", n)
	}
}

func TestCreateRefusesWrongNames(t *testing.T) {
	b := newBench(t)
	b.mkdir("alice/s1")
	for path, errno := range map[string]syscall.Errno{
		"20260221T143022-x.md": syscall.EPERM, "file": syscall.EPERM, "alice/notes.md": syscall.EINVAL,
		"alice/20260230T143022-x.md": syscall.EINVAL, "alice/s1/x.md": syscall.EINVAL,
	} {
		_, _, err := b.Write(ctx, alice, path, room.Create{New: true, Mode: 0o644})
		wantErrno(t, err, errno)
	}
	if n := len(journalOf(t, b)); n != 5 {
		t.Errorf("the journal has %d refusals, want 5", n)
	}
}

func TestRemoveTakesEverythingButEntries(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.write("alice/notes.txt", "x", 0o644)
	_, err := b.Symlink(ctx, alice, "me@host.1", "alice/.#x")
	b.ok(err)
	b.ok(b.draft(alice, two, false).Close())
	wantErrno(t, b.Remove(ctx, alice, one), syscall.EPERM)
	if err := b.RemoveDir(ctx, alice, "alice"); !errors.Is(err, backing.ErrNotEmpty) {
		t.Errorf("rmdir of a full directory: %v", err)
	}
	for _, path := range []string{"alice/notes.txt", "alice/.#x", two} {
		b.ok(b.Remove(ctx, alice, path))
		b.wantGone(path)
	}
	b.want(one, valid)
}

func TestRemoveDirCountsPendingEntries(t *testing.T) {
	b := newBench(t)
	b.ok(b.draft(alice, one, false).Close())
	if err := b.RemoveDir(ctx, alice, "alice"); !errors.Is(err, backing.ErrNotEmpty) {
		t.Fatalf("rmdir with a pending entry: %v", err)
	}
	b.ok(b.Remove(ctx, alice, one))
	b.ok(b.RemoveDir(ctx, alice, "alice"))
	b.wantGone("alice")
}

func TestOnlyEditorLocksAreSymlinks(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"link", ".#link", "alice/link", "alice/20260221T143022-x.md"} {
		_, err := b.Symlink(ctx, alice, "/etc/passwd", path)
		wantErrno(t, err, syscall.EPERM)
	}
	info, err := b.Symlink(ctx, alice, "me@host.1", "alice/.#20260221T143022-one.md")
	if err != nil || info.Kind != room.Link {
		t.Errorf("an editor's lock: %+v, %v", info, err)
	}
	wantErrno(t, b.Rename(ctx, alice, "alice/.#20260221T143022-one.md", "alice/link", 0), syscall.EPERM)
}

func TestCancelledCommitIsWhole(t *testing.T) {
	b := newBench(t)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	d := b.draft(alice, one, true)
	_, err := d.WriteAt([]byte(valid), 0)
	b.ok(err)
	b.ok(d.Commit(cancelled))
	b.ok(d.Close())
	b.want(one, valid)
}

func TestReadOnlyStoreIsReadable(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	store, err := localdir.Open(b.dir, localdir.Options{ReadOnly: true, Log: slog.New(slog.DiscardHandler)})
	b.ok(err)
	e, err := New(store, Options{Log: slog.New(slog.DiscardHandler), Journal: room.NewJournal(store)})
	b.ok(err)
	for _, path := range []string{one, two, "alice/notes.txt"} {
		if _, _, err := e.Write(ctx, alice, path, room.Create{New: true, Mode: 0o644, Flags: syscall.O_RDWR}); !errors.Is(err, backing.ErrReadOnly) {
			t.Errorf("%s opened for writing: %v", path, err)
		}
	}
	if infos, err := e.List(ctx, "alice", "", 10); err != nil || len(infos) != 1 {
		t.Errorf("lists %v, %v", infos, err)
	}
	b.ok(errors.Join(e.Close(), store.Close()))
}

func TestNewFilesBelongToTheirMakerWhereTheStoreMaySaySo(t *testing.T) {
	b := newBench(t)
	c := room.Caller{PID: 1, UID: 12345, GID: 12345, Agent: "other"}
	want := c.UID
	if os.Geteuid() != 0 {
		want = uint32(os.Geteuid())
	}
	_, err := b.MakeDir(ctx, c, "other", 0o755)
	b.ok(err)
	b.mustSave(c, "other/20260221T143022-x.md", "---\ntype: finding\n---\n")
	f, _, err := b.Write(ctx, c, "other/notes.txt", room.Create{New: true, Mode: 0o644, Flags: syscall.O_RDWR})
	b.ok(err)
	b.ok(f.Close())
	wantErrno(t, b.save(c, "other/20260221T143023-y.md", invalid), syscall.EINVAL)
	for _, path := range []string{"other", "other/20260221T143022-x.md", "other/notes.txt", "other/20260221T143023-y.md.rej"} {
		if info := infoOf(b, path); info.UID != want {
			t.Errorf("%s belongs to %d, want %d", path, info.UID, want)
		}
	}
}
