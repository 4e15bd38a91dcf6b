package entries

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

const temporary = "alice/sedAbCdEf"

func TestFileRenamedOntoAnEntryIsASave(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.write(temporary, valid+"More.\n", 0o600)
	b.ok(b.Rename(ctx, bob, temporary, one, 0))
	b.wantGone(temporary)
	b.wantChangelog(one, "[bob]")
	b.wantVersions(one, 1)
	if info := infoOf(b, one); info.Mode != 0o644 || info.Kind != room.Object {
		t.Errorf("the entry is %+v", info)
	}
}

func TestFileRenamedOntoANewNameBecomesAnEntry(t *testing.T) {
	b := newBench(t)
	b.write(temporary, "---\ntype: finding\n---\nbody\n", 0o600)
	b.ok(b.Rename(ctx, alice, temporary, one, unix.RENAME_NOREPLACE))
	b.wantGone(temporary)
	if !strings.Contains(b.read(one), "agent: alice\n") {
		t.Errorf("stored %q", b.read(one))
	}
	if info := infoOf(b, one); info.Mode != 0o600 {
		t.Errorf("mode %v, want that of the file", info.Mode)
	}
}

func TestInvalidFileRenamedOntoAnEntryStays(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.write(temporary, invalid, 0o644)
	wantErrno(t, b.Rename(ctx, bob, temporary, one, 0), syscall.EINVAL)
	b.want(temporary, invalid)
	b.want(one, valid)
	if got := rejected(t, b, one+".rej"); got != invalid {
		t.Errorf("the .rej holds %q", got)
	}
	if n := len(journalOf(t, b)); n != 1 {
		t.Errorf("%d lines in the journal", n)
	}
}

func TestRejRenamedBackIsTakenWithoutItsComments(t *testing.T) {
	b := newBench(t)
	wantErrno(t, b.save(alice, one, invalid), syscall.EINVAL)
	mended := strings.Replace(b.read(one+".rej"), "\ntype: wrong", "\ntype: finding", 1)
	b.write(one+".rej", mended, 0o644)
	b.ok(b.Rename(ctx, alice, one+".rej", one, 0))
	b.wantGone(one + ".rej")
	if got := b.read(one); !strings.HasPrefix(got, "---\n") || !strings.HasSuffix(got, "precious\n") {
		t.Errorf("stored %q", got)
	}
}

func TestRenameFlagsAreHonoured(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.ok(b.draft(alice, two, false).Close())
	b.write(temporary, valid+"More.\n", 0o644)
	for _, to := range []string{one, two} {
		if err := b.Rename(ctx, alice, temporary, to, unix.RENAME_NOREPLACE); !errors.Is(err, backing.ErrExists) {
			t.Errorf("onto %s: %v", to, err)
		}
	}
	wantErrno(t, b.Rename(ctx, alice, temporary, one, unix.RENAME_EXCHANGE), syscall.EPERM)
	wantErrno(t, b.Rename(ctx, alice, one, temporary, unix.RENAME_EXCHANGE), syscall.EPERM)
	b.ok(b.Rename(ctx, alice, temporary, two, 0)) // over a pending entry
	b.want(two, valid+"More.\n")
	b.want(one, valid)
	b.wantGone(temporary)
}

func TestEntryKeepsItsNameAndDirectory(t *testing.T) {
	b := newBench(t)
	b.mkdir("alice/s1")
	b.mkdir("bob")
	b.mustSave(alice, one, valid)
	for _, to := range []string{two, "alice/s1/20260221T143022-one.md", "bob/20260221T143022-one.md", "bob/backup", "file", "alice/s1/one~"} {
		wantErrno(t, b.Rename(ctx, alice, one, to, 0), syscall.EPERM)
	}
	wantErrno(t, b.Rename(ctx, alice, one, "alice/notes.md", 0), syscall.EINVAL)
	b.want(one, valid)
}

func TestOrdinaryFilesAreRenamedFreely(t *testing.T) {
	b := newBench(t)
	b.mkdir("bob")
	b.write("alice/a.txt", "a", 0o644)
	b.write("bob/b.txt", "b", 0o644)
	b.ok(b.Rename(ctx, alice, "alice/a.txt", "bob/b.txt", 0))
	b.wantGone("alice/a.txt")
	b.want("bob/b.txt", "a")
	wantErrno(t, b.Rename(ctx, alice, "bob/b.txt", "b.txt", 0), syscall.EPERM)
}

func TestPendingRenamedToAPlainNameIsAFile(t *testing.T) {
	b := newBench(t)
	b.ok(b.draft(alice, one, false).Close())
	wantErrno(t, b.Rename(ctx, alice, one, two, 0), syscall.EPERM)
	b.ok(b.Rename(ctx, alice, one, "alice/one~", 0))
	b.wantGone(one)
	if info := infoOf(b, "alice/one~"); info.Kind != room.Plain || info.Size != 0 {
		t.Errorf("%+v", info)
	}
}

func TestEmptyFileRenamedOntoANewNameIsPending(t *testing.T) {
	b := newBench(t)
	b.write(temporary, "", 0o644)
	b.ok(b.Rename(ctx, alice, temporary, one, 0))
	b.wantGone(temporary)
	b.want(one, "")
	b.mustSave(alice, two, valid)
	b.write(temporary, "", 0o644)
	wantErrno(t, b.Rename(ctx, alice, temporary, two, 0), syscall.EINVAL)
	b.want(two, valid)
}

func TestFileWrittenWhileItIsRenamedLosesNothing(t *testing.T) {
	b := newBench(t)
	b.write(temporary, valid, 0o644)
	late := false
	b.store.onPut(func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		if string(key) == one && !late {
			late = true
			b.onDisk(temporary, valid+"Late.\n")
		}
		return put()
	})
	b.ok(b.Rename(ctx, alice, temporary, one, unix.RENAME_NOREPLACE))
	if !strings.Contains(b.read(one), "Late.\n") {
		t.Errorf("stored %q", b.read(one))
	}
	b.wantGone(temporary)
}

func TestOnlyEmptyDirectoriesAreRenamed(t *testing.T) {
	b := newBench(t)
	b.mkdir("bob")
	b.ok(b.Rename(ctx, alice, "bob", "carol", 0))
	b.wantGone("bob")
	infoOf(b, "carol")
	b.ok(b.draft(alice, one, false).Close())
	wantErrno(t, b.Rename(ctx, alice, "alice", "dave", 0), syscall.EPERM)
	b.mustSave(alice, one, valid)
	wantErrno(t, b.Rename(ctx, alice, "alice", "dave", 0), syscall.EPERM)
	wantErrno(t, b.Rename(ctx, alice, "carol", "vars", 0), syscall.EINVAL)
	b.want(one, valid)
}
