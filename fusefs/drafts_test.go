package fusefs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestEntryComesBackByteForByte(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("body\n"))
	if got := m.read("a/" + name1); got != entry("body\n") {
		t.Errorf("read back %q", got)
	}
}

func TestReaderKeepsTheVersionItOpened(t *testing.T) {
	m := mount(t)
	old := entry(strings.Repeat("old line\n", 40000)) // more than is read ahead
	m.write("a/"+name1, old)
	r, err := os.Open(m.path("a", name1))
	m.must(err)
	defer r.Close()
	head := make([]byte, 100)
	_, err = io.ReadFull(r, head)
	m.must(err)
	m.write("a/"+name1, entry("new\n"))
	rest, err := io.ReadAll(r)
	m.must(err)
	if string(head)+string(rest) != old {
		t.Errorf("the reader did not get the old version whole: %d bytes of %d", len(head)+len(rest), len(old))
	}
	if now := m.read("a/" + name1); !strings.Contains(now, "new\n") {
		t.Errorf("the next reader did not get the new version: %.200q", now)
	}
}

func TestReaderThatHasNotReadYetKeepsItsVersion(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("old\n"))
	r, err := os.Open(m.path("a", name1))
	m.must(err)
	defer r.Close()
	m.write("a/"+name1, entry("new\n"))
	b, err := io.ReadAll(r)
	m.must(err)
	if string(b) != entry("old\n") {
		t.Errorf("got %q", b)
	}
}

func TestWriterSeesItsDraftAndOthersTheOldVersion(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("old\n"))
	w, err := os.OpenFile(m.path("a", name1), os.O_RDWR|os.O_TRUNC, 0)
	m.must(err)
	_, err = w.WriteString(entry("longer than before\n"))
	m.must(err)
	st, err := w.Stat()
	m.must(err)
	if want := int64(len(entry("longer than before\n"))); st.Size() != want {
		t.Errorf("the writer's fstat says %d bytes, want %d", st.Size(), want)
	}
	own := make([]byte, st.Size())
	_, err = w.ReadAt(own, 0)
	m.must(err)
	if string(own) != entry("longer than before\n") {
		t.Errorf("the writer reads %q", own)
	}
	if got := m.read("a/" + name1); got != entry("old\n") {
		t.Errorf("others read %q before the close", got)
	}
	other, err := os.Stat(m.path("a", name1))
	m.must(err)
	if other.Size() != int64(len(entry("old\n"))) {
		t.Errorf("others see %d bytes before the close", other.Size())
	}
	if !os.SameFile(st, other) {
		t.Error("the draft and the entry have different file numbers")
	}
	m.must(w.Close())
	if got := m.read("a/" + name1); !strings.Contains(got, "longer than before\n") || lines(got) != 1 {
		t.Errorf("after the close: %q", got)
	}
}

func TestClosingACopyOfTheDescriptorDecidesNothing(t *testing.T) {
	m := mount(t)
	w, err := os.OpenFile(m.path("a", name1), os.O_WRONLY|os.O_CREATE, 0o644)
	m.must(err)
	whole := entry("body\n")
	_, err = w.WriteString(whole[:20])
	m.must(err)
	for range 3 {
		fd, err := unix.Dup(int(w.Fd()))
		m.must(err)
		if err := unix.Close(fd); err != nil {
			t.Fatalf("the close of a copy failed: %v", err)
		}
	}
	_, err = w.WriteString(whole[20:])
	m.must(err)
	m.must(w.Close())
	if got := m.read("a/" + name1); got != whole {
		t.Errorf("got %q", got)
	}
}

func TestUnfinishedEntryIsRefusedAtItsLastClose(t *testing.T) {
	m := mount(t)
	w, err := os.Create(m.path("a", name1))
	m.must(err)
	_, err = w.WriteString("---\ntype: finding\n")
	m.must(err)
	m.wantErrno("close", w.Close(), unix.EINVAL)
	if rej := m.read("a/" + name1 + ".rej"); !strings.Contains(rej, "type: finding\n") {
		t.Errorf("the draft is not in the .rej: %q", rej)
	}
	if errs := m.read(".ctxfs/errors"); !strings.Contains(errs, name1) || !strings.Contains(errs, `"EINVAL"`) {
		t.Errorf(".ctxfs/errors says %q", errs)
	}
	names, err := os.ReadDir(m.path("a"))
	m.must(err)
	if !strings.Contains(fmt.Sprint(names), ".rej") {
		t.Errorf("the listing lacks the .rej: %v", names)
	}
	m.write("a/"+name1, entry("good\n"))
	within(t, "the .rej goes with a valid save", func() error {
		if _, err := os.Stat(m.path("a", name1+".rej")); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
}

func TestWriteThatCannotBecomeAnEntryFailsAtOnce(t *testing.T) {
	m := mount(t)
	w, err := os.Create(m.path("a", name1))
	m.must(err)
	_, err = w.WriteString("hello\n")
	m.wantErrno("write", err, unix.EINVAL)
	if rej := m.read("a/" + name1 + ".rej"); !strings.HasSuffix(rej, "hello\n") {
		t.Errorf(".rej says %q", rej)
	}
	m.wantErrno("close", w.Close(), unix.EINVAL)
}

// Many processes overwriting one entry reach the open of a version that was
// taken over, and of one that is being read, from every side.
func TestConcurrentOverwritesKeepEveryChangelogLine(t *testing.T) {
	m := mount(t)
	path := m.path("a", name1)
	m.write("a/"+name1, entry("start\n"))
	const writers, times = 16, 20
	stop := make(chan struct{})
	var readers, all sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				b, err := os.ReadFile(path)
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				if !strings.HasPrefix(string(b), "---\nagent: a\n") || !strings.HasSuffix(string(b), "\n") {
					t.Errorf("a torn entry: %q", b)
					return
				}
			}
		})
	}
	for w := range writers {
		all.Go(func() {
			for i := range times {
				if err := os.WriteFile(path, []byte(entry(fmt.Sprintf("writer %d, %d\n", w, i))), 0o644); err != nil {
					t.Errorf("writer %d, save %d: %v", w, i, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(stop)
	readers.Wait()
	// A close while another thread of this process has the file open is not
	// the last one, for all that can be seen: the commit comes after it.
	within(t, "all are committed", func() error {
		if got := lines(m.read("a/" + name1)); got != writers*times {
			return fmt.Errorf("%d changelog lines, want %d", got, writers*times)
		}
		return nil
	})
	for n := 1; n <= writers*times; n++ {
		if v := m.read(fmt.Sprintf(".ctxfs/versions/a/%s/%d", name1, n)); lines(v) != n-1 {
			t.Fatalf("version %d has %d changelog lines", n, lines(v))
		}
	}
}

func TestTwoSavesOfOneOpenAreOneVersion(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("first\n"))
	w, err := os.OpenFile(m.path("a", name1), os.O_RDWR|os.O_TRUNC, 0)
	m.must(err)
	_, err = w.WriteString(entry("second\n"))
	m.must(err)
	m.must(w.Sync())
	_, err = w.WriteString("and more\n")
	m.must(err)
	m.must(w.Close())
	got := m.read("a/" + name1)
	if lines(got) != 1 || !strings.Contains(got, "second\nand more\n") {
		t.Errorf("got %q", got)
	}
	versions, err := os.ReadDir(m.path(".ctxfs/versions/a", name1))
	m.must(err)
	if len(versions) != 1 {
		t.Errorf("%d versions", len(versions))
	}
}

func TestAppendsOfSeveralHandlesAllStay(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("body\n"))
	w, err := os.OpenFile(m.path("a", name1), os.O_WRONLY|os.O_APPEND, 0)
	m.must(err)
	_, err = w.WriteString("appended\n")
	m.must(err)
	m.must(w.Close())
	got := m.read("a/" + name1)
	if !strings.Contains(got, "body\nappended\n") || lines(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestReopenByProcFdSharesTheDraft(t *testing.T) {
	m := mount(t)
	w, err := os.Create(m.path("a", name1))
	m.must(err)
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), os.O_WRONLY, 0)
	m.must(err)
	_, err = again.WriteString(entry("through /proc\n"))
	m.must(err)
	m.must(again.Close())
	m.must(w.Close())
	if got := m.read("a/" + name1); got != entry("through /proc\n") {
		t.Errorf("got %q", got)
	}
}

func TestUnlinkOfAnEntryIsRefusedAndItStays(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("body\n"))
	m.wantErrno("unlink", unix.Unlink(m.path("a", name1)), unix.EPERM)
	m.wantErrno("link", os.Link(m.path("a", name1), m.path("a", "x")), unix.EPERM)
	m.wantErrno("mkfifo", unix.Mkfifo(m.path("a", "fifo"), 0o600), unix.EPERM)
	m.wantErrno("rmdir", unix.Rmdir(m.path("a")), unix.ENOTEMPTY)
	if got := m.read("a/" + name1); got != entry("body\n") {
		t.Errorf("got %q", got)
	}
}

func TestTruncateByNameIsASave(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("body that goes\n"))
	m.read("a/" + name1)
	m.must(os.Truncate(m.path("a", name1), int64(len(entry("body")))))
	if got := m.read("a/" + name1); strings.Contains(got, "that goes") || lines(got) != 1 {
		t.Errorf("got %q", got)
	}
	m.wantErrno("truncate to nothing", os.Truncate(m.path("a", name1), 0), unix.EINVAL)
}
