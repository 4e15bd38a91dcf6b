package fusefs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/fusefs"
	"ctxfs/room"
)

func TestEditsOfTheStoreShowThoughEverythingWasCached(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("old\n"))
	m.read("a/" + name1)
	listing := func() string {
		names, err := os.ReadDir(m.path("a"))
		m.must(err)
		return fmt.Sprint(names)
	}
	listing()
	if _, err := os.Stat(m.path("a", "note.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}

	m.must(os.WriteFile(filepath.Join(m.store, "a", name1), []byte(entry("edited outside, and longer\n")), 0o644))
	within(t, "a changed entry shows", func() error {
		if got := m.read("a/" + name1); got != entry("edited outside, and longer\n") {
			return fmt.Errorf("still %q", got)
		}
		return nil
	})
	m.must(os.WriteFile(filepath.Join(m.store, "a", "note.txt"), []byte("new\n"), 0o644))
	within(t, "a name that was absent shows", func() error {
		_, err := os.Stat(m.path("a", "note.txt"))
		return err
	})
	within(t, "a new name is listed", func() error {
		if l := listing(); !strings.Contains(l, "note.txt") {
			return errors.New(l)
		}
		return nil
	})
	m.must(os.Remove(filepath.Join(m.store, "a", name1)))
	within(t, "a removed entry goes", func() error {
		if _, err := os.Stat(m.path("a", name1)); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("stat: %v", err)
		}
		return nil
	})
	m.must(os.Mkdir(filepath.Join(m.store, "b"), 0o755))
	m.must(os.WriteFile(filepath.Join(m.store, "b", name1), []byte(entry("x\n")), 0o644))
	within(t, "a new directory shows with what is in it", func() error {
		_, err := os.Stat(m.path("b", name1))
		return err
	})
}

func TestControlDirectoryIsReachableAndNeverListed(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("one\n"))
	m.write("a/"+name1, entry("two\n"))
	top, err := os.ReadDir(m.dir)
	m.must(err)
	if got := fmt.Sprint(top); got != "[- README d a/]" && len(top) != 2 {
		t.Errorf("the top lists %s", got)
	}
	if got := m.read(".ctxfs/version"); got != "test\n" {
		t.Errorf("version %q", got)
	}
	if got := m.read(".ctxfs/stats"); !strings.Contains(got, `"commits": 2`) {
		t.Errorf("stats %s", got)
	}
	version := ".ctxfs/versions/a/" + name1 + "/1"
	if got := m.read(version); got != entry("one\n") {
		t.Errorf("version 1 is %q", got)
	}
	_, err = os.OpenFile(m.path(version), os.O_WRONLY, 0)
	m.wantErrno("write to a version", err, unix.EROFS)
	m.wantErrno("unlink of a version", unix.Unlink(m.path(version)), unix.EROFS)
	_, err = os.OpenFile(m.path("README"), os.O_WRONLY, 0)
	m.wantErrno("write to README", err, unix.EROFS)
	for _, name := range []string{".ctxfs/versions/a/none", ".ctxfs/versions/a/" + name1 + "/9", ".ctxfs/lock", ".ctxfs/versions/.ctxfs/lock"} {
		if _, err := os.Stat(m.path(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("stat of %s: %v", name, err)
		}
	}
}

func TestLocksHoldBetweenVersionsAndDraftsOfAnEntry(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("one\n"))
	r, err := os.Open(m.path("a", name1))
	m.must(err)
	defer r.Close()
	m.must(unix.Flock(int(r.Fd()), unix.LOCK_EX))
	w, err := os.OpenFile(m.path("a", name1), os.O_RDWR, 0)
	m.must(err)
	defer w.Close()
	m.wantErrno("flock of a locked file", unix.Flock(int(w.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	m.must(unix.Flock(int(r.Fd()), unix.LOCK_UN))
	m.must(unix.Flock(int(w.Fd()), unix.LOCK_EX|unix.LOCK_NB))

	lk := unix.Flock_t{Type: unix.F_WRLCK, Start: 10, Len: 5}
	m.must(unix.FcntlFlock(w.Fd(), unix.F_OFD_SETLK, &lk))
	lk = unix.Flock_t{Type: unix.F_RDLCK, Start: 14, Len: 1}
	m.wantErrno("fcntl of a locked range", unix.FcntlFlock(r.Fd(), unix.F_OFD_SETLK, &lk), unix.EAGAIN)
	lk = unix.Flock_t{Type: unix.F_RDLCK, Start: 15, Len: 1}
	m.must(unix.FcntlFlock(r.Fd(), unix.F_OFD_SETLK, &lk))
}

// panicking is a room in which one name is a defect.
type panicking struct{ room.Room }

func (p panicking) Stat(ctx context.Context, path string) (room.Info, error) {
	if path == "boom" {
		panic("boom")
	}
	return p.Room.Stat(ctx, path)
}

func TestPanicBecomesEIOAndTheMountLivesOn(t *testing.T) {
	m := mount(t, func(o *fusefs.Options) { o.Root = panicking{o.Root} })
	_, err := os.Stat(m.path("boom"))
	m.wantErrno("stat", err, unix.EIO)
	m.write("a/"+name1, entry("still here\n"))
	m.read("a/" + name1)
}

func TestScratchFilesAreOrdinary(t *testing.T) {
	m := mount(t)
	m.write("a/.x.swp", "0123456789")
	f, err := os.OpenFile(m.path("a", ".x.swp"), os.O_RDWR, 0)
	m.must(err)
	_, err = f.WriteAt([]byte("ab"), 4)
	m.must(err)
	m.must(f.Truncate(8))
	m.must(os.Remove(m.path("a", ".x.swp")))
	b := make([]byte, 8)
	_, err = f.ReadAt(b, 0)
	m.must(err)
	st, err := f.Stat()
	m.must(err)
	if string(b) != "0123ab67" || st.Size() != 8 {
		t.Errorf("after its removal the open file holds %q, %d bytes", b, st.Size())
	}
	m.must(f.Close())
	m.must(os.Symlink("me@host.1", m.path("a", ".#e")))
	if to, err := os.Readlink(m.path("a", ".#e")); err != nil || to != "me@host.1" {
		t.Errorf("readlink: %q, %v", to, err)
	}
	m.must(os.Remove(m.path("a", ".#e")))
	m.wantErrno("symlink", os.Symlink("x", m.path("a", "link")), unix.EPERM)
}

func TestRenameOntoAnEntrySaves(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("one\n"))
	m.read("a/" + name1)
	for i := range 3 {
		m.write("a/sedAbCdEf", entry(fmt.Sprintf("save %d\n", i)))
		m.must(os.Rename(m.path("a/sedAbCdEf"), m.path("a", name1)))
		got := m.read("a/" + name1)
		st, err := os.Stat(m.path("a", name1))
		m.must(err)
		if !strings.Contains(got, fmt.Sprintf("save %d\n", i)) || lines(got) != i+1 || st.Size() != int64(len(got)) {
			t.Fatalf("after save %d (stat says %d bytes): %q", i, st.Size(), got)
		}
	}
	m.write("a/tmp", "no entry\n")
	m.wantErrno("rename of what is no entry", os.Rename(m.path("a/tmp"), m.path("a", name1)), unix.EINVAL)
	if got := m.read("a/tmp"); got != "no entry\n" {
		t.Errorf("the source is now %q", got)
	}
}

func TestLargeVersionsAreReadWholeByAllTheirReaders(t *testing.T) {
	m := mount(t)
	old := entry(strings.Repeat("0123456789abcde\n", 6<<20/16))
	m.write("a/"+name1, old)
	r, err := os.Open(m.path("a", name1))
	m.must(err)
	defer r.Close()
	if got := m.read("a/" + name1); got != old {
		t.Errorf("read back %d bytes of %d, or others", len(got), len(old))
	}
	m.write("a/"+name1, entry("small now\n"))
	b, err := io.ReadAll(r)
	m.must(err)
	if string(b) != old {
		t.Errorf("the open reader got %d bytes of %d, or others", len(b), len(old))
	}
	if got := m.read("a/" + name1); !strings.Contains(got, "small now\n") {
		t.Errorf("the next reader got %.100q", got)
	}
}

func TestAFileIsTruncatedThoughOthersHaveItOpenForReading(t *testing.T) {
	m := mount(t)
	m.write("a/scratch", "some text\n")
	w, err := os.OpenFile(m.path("a", "scratch"), os.O_RDWR, 0)
	m.must(err)
	defer w.Close()
	r, err := os.Open(m.path("a", "scratch"))
	m.must(err)
	defer r.Close()
	m.must(w.Truncate(4))
	m.must(os.Truncate(m.path("a", "scratch"), 2))
	if got := m.read("a/scratch"); got != "so" {
		t.Errorf("it has %q", got)
	}
}
