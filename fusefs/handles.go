package fusefs

import (
	"maps"
	"slices"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
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

// open returns an open handle of a Plain file, nil if there is none: what has
// been removed is reachable through it only.
func (n *node) open() *plainFile {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.files) == 0 {
		return nil
	}
	return n.files[len(n.files)-1]
}

// writable is the open handle that a truncate goes through: that of the request
// if it has one, else any that was opened for writing.
func (f *FS) writable(n *node, in *fuse.SetAttrIn) *plainFile {
	if fh, ok := in.GetFh(); ok {
		if h, ok := f.handles.get(fh).(*plainFile); ok {
			return h
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.files {
		if h.writes {
			return h
		}
	}
	return nil
}

// removed reports whether n is an ordinary file that is open and has no name
// any more, which st_nlink tells.
func (n *node) removed() bool {
	file := n.open()
	if file == nil {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(int(file.Fd()), &st) == nil && st.Nlink == 0
}

func (n *node) addFile(p *plainFile) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.files = append(n.files, p)
}

func (n *node) removeFile(p *plainFile) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, q := range n.files {
		if p == q {
			n.files = append(n.files[:i], n.files[i+1:]...)
			return
		}
	}
}
