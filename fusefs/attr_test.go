package fusefs_test

import (
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestModesAndTimesAreKept(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("one\n"))
	r, err := os.Open(m.path("a", name1))
	m.must(err)
	defer r.Close()
	when := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	m.must(os.Chtimes(m.path("a", name1), when, when))
	m.must(os.Chmod(m.path("a", name1), 0o4640))
	st, err := os.Stat(m.path("a", name1))
	m.must(err)
	if !st.ModTime().Equal(when) || st.Mode() != 0o640 {
		t.Errorf("time %v, mode %v", st.ModTime(), st.Mode())
	}
	b, err := io.ReadAll(r)
	m.must(err)
	if string(b) != entry("one\n") {
		t.Errorf("an open reader got %q", b)
	}
	w, err := os.OpenFile(m.path("a", name1), os.O_WRONLY|os.O_TRUNC, 0)
	m.must(err)
	_, err = w.WriteString(entry("two\n"))
	m.must(err)
	m.must(unix.Futimes(int(w.Fd()), []unix.Timeval{unix.NsecToTimeval(when.UnixNano()), unix.NsecToTimeval(when.UnixNano())}))
	m.must(w.Close())
	st, err = os.Stat(m.path("a", name1))
	m.must(err)
	if !st.ModTime().Truncate(time.Microsecond).Equal(when) || st.Mode() != 0o640 {
		t.Errorf("after a save with a time of its own: time %v, mode %v", st.ModTime(), st.Mode())
	}
}
