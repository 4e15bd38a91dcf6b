package live

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	hotEntries = 6 // that all processes overwrite at a time
	// turn is how many saves of them a process does before it goes on to
	// others. An entry's changelog has a line for each save, and each version
	// all lines before its own: what lies in the store, and what the check
	// reads, grows with the square of the saves of one entry.
	turn = 24
)

// heat are the entries that all processes overwrite for a time. The processes
// change to the next ones at about the same time, each in its own.
type heat struct {
	dir   string
	turn  int
	saves int // of this process
}

func (h heat) entry(i int) string { return fmt.Sprintf("%s/20260222T100000-hot%d.md", h.dir, i) }

func (h heat) any(r *rand.Rand) string { return h.entry(r.IntN(hotEntries)) }

// count notes that something was written to path.
func (h *heat) count(path string) {
	if filepath.Dir(path) == h.dir {
		h.saves++
	}
}

// nextHot goes on to other hot entries.
func (w *worker) nextHot() error {
	w.hot.turn++
	return w.heat()
}

// heat makes the hot entries that are not there: of the processes that try
// just one does each.
func (w *worker) heat() error {
	w.hot.dir, w.hot.saves = fmt.Sprintf("hot%d-%d", w.Run, w.hot.turn), 0
	if err := os.Mkdir(w.at(w.hot.dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for i := range hotEntries {
		path := w.hot.entry((w.Number + i) % hotEntries) // not all begin with the same
		if _, err := os.Lstat(w.at(path)); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		if err := w.makeOnce(path); err != nil {
			return in(path, err)
		}
	}
	return nil
}

// makeOnce makes an entry, whole, unless another process has.
func (w *worker) makeOnce(path string) error {
	id := w.next()
	part := fmt.Sprintf("%s.tmp.%s", path, id)
	if err := w.write(part, w.entryText(id, true), os.O_EXCL); err != nil {
		return err
	}
	err := unix.Renameat2(unix.AT_FDCWD, w.at(part), unix.AT_FDCWD, w.at(path), unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EEXIST) {
		return os.Remove(w.at(part))
	}
	return w.note(path, id, err)
}
