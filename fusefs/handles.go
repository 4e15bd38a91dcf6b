package fusefs

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// handles are the open files that need more than their node: everything but
// read-only opens of Objects, which share what hangs on the node and have
// handle 0.
type handles struct {
	mu   sync.Mutex // guards both
	open map[uint64]any
	last uint64
}

// A handle is one of these, or a *workFile:
type (
	// draftHandle is an open for writing of an Object.
	draftHandle struct{ *draft }
	// plainFile is an open Plain file.
	plainFile struct {
		backing.File
		node   *node
		writes bool // it was opened for writing
	}
	// fixedFile is content made or opened at open: a Virtual file, or a
	// committed version that is read through the node of a draft.
	fixedFile struct{ backing.Content }
)

func (t *handles) add(h any) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[uint64]any{}
	}
	t.last++
	t.open[t.last] = h
	return t.last
}

func (t *handles) get(fh uint64) any {
	if fh == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[fh]
}

func (t *handles) remove(fh uint64) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.open[fh]
	delete(t.open, fh)
	return h
}

func (t *handles) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// all removes and returns every open handle.
func (t *handles) all() []any {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Collect(maps.Values(t.open))
	t.open = nil
	return all
}

// through calls do with an open handle of a Plain file, one that was opened for
// writing if writes is set: what has been removed is reachable so only. found is
// false where there is none. The handle may be somebody else's, who closes it
// meanwhile; then do is called again with another one.
func (n *node) through(writes bool, do func(*plainFile) error) (found bool, err error) {
	for {
		h := n.someFile(writes)
		if h == nil {
			return false, nil
		}
		if err := do(h); !errors.Is(err, os.ErrClosed) {
			return true, err
		}
	}
}

// someFile returns the youngest open handle of a Plain file, nil if there is
// none.
func (n *node) someFile(writes bool) *plainFile {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range slices.Backward(n.files) {
		if h.writes || !writes {
			return h
		}
	}
	return nil
}

// writing reports whether somebody has the Plain file n open for writing.
func (n *node) writing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.files, func(h *plainFile) bool { return h.writes })
}

// removed reports whether n is an ordinary file that is open and has no name
// any more, which st_nlink tells.
func (n *node) removed() bool {
	var st unix.Stat_t
	found, err := n.through(false, func(h *plainFile) error {
		err := unix.Fstat(int(h.Fd()), &st)
		if !n.has(h) {
			return os.ErrClosed // and its descriptor may have been another file's
		}
		return err
	})
	return found && err == nil && st.Nlink == 0
}

// has reports whether h is open: it is taken out before it is closed.
func (n *node) has(h *plainFile) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.files, h)
}

func (n *node) addFile(p *plainFile) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.files = append(n.files, p)
}

func (n *node) removeFile(p *plainFile) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.files = slices.DeleteFunc(n.files, func(q *plainFile) bool { return p == q })
}
