package fusefs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// noDraft waits until no draft is open: that a file was closed is told to the
// daemon after close(2) has returned.
func (m mounted) noDraft() {
	m.Helper()
	within(m.T, "drafts end", func() error {
		if n := m.fs.Stats()["drafts"].(int64); n != 0 {
			return fmt.Errorf("%d are open", n)
		}
		return nil
	})
}

// A program has looked the name up. Before it opens what it has found, that has
// been a writer's draft, which a commit made longer than its writer knows.
func TestOneThatOpensWhatHasBeenADraftGetsTheWholeVersion(t *testing.T) {
	for _, looks := range []bool{false, true} {
		t.Run(fmt.Sprintf("the writer looks at its size: %v", looks), func(t *testing.T) {
			m := mount(t)
			path := "a/" + name1
			m.write(path, entry("old\n"))
			m.noDraft()
			found, err := unix.Open(m.path(path), unix.O_PATH|unix.O_CLOEXEC, 0)
			m.must(err)
			t.Cleanup(func() { m.must(unix.Close(found)) })
			w, err := os.OpenFile(m.path(path), os.O_WRONLY|os.O_TRUNC, 0)
			m.must(err)
			_, err = w.WriteString(entry("new\n"))
			if looks {
				_, serr := w.Stat()
				err = errors.Join(err, serr)
			}
			m.must(errors.Join(err, w.Close()))
			m.noDraft()

			r, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", found))
			m.must(err)
			info, err := r.Stat()
			m.must(err)
			b, err := io.ReadAll(r)
			m.must(errors.Join(err, r.Close()))
			if want := m.read(path); string(b) != want || info.Size() != int64(len(want)) {
				t.Errorf("it has %d bytes, is %q, and should be %q", info.Size(), b, want)
			}
		})
	}
}
