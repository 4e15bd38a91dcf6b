package fusefs

import (
	"context"
	"io"
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Work is a long task of the daemon's that the mount's owner, or root, asks
// for through a file in .ctxfs: a write is the request, reads are the answer
// as it comes, and who closes the file before its end cancels ctx. changing is
// to be told each path, from the top of the mount, just before something comes
// or goes there: who has it open keeps it. What changed is known to the kernel
// before the reader sees the end of the answer.
type Work func(ctx context.Context, request []byte, answer io.Writer, changing func(path string)) error

const workUsage = "A request written here is answered here; `ctxfs %s` does so.\n"

// workFile is an open file of a Work.
type workFile struct {
	f      *FS
	do     Work
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // guards the rest
	started bool
	ended   bool
	said    []byte        // and not read yet
	moved   chan struct{} // closed when said or ended changes
}

// maxSaid is how much of an answer waits for its reader, in bytes.
const maxSaid = 256 << 10

// openWork opens the file of a Work, for whom it is meant.
func (f *FS) openWork(in *fuse.OpenIn, do Work, out *fuse.OpenOut) fuse.Status {
	if in.Uid != f.uid && in.Uid != 0 {
		return fuse.EACCES
	}
	w := &workFile{f: f, do: do, moved: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(f.ctx)
	out.Fh = f.handles.add(w)
	// Without positions: what is read does not depend on what was written.
	out.OpenFlags = fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NONSEEKABLE | fuse.FOPEN_STREAM | fuse.FOPEN_NOFLUSH
	return fuse.OK
}

// ask begins the work. A request is one write.
func (w *workFile) ask(request []byte) fuse.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return fuse.EBUSY
	}
	w.started = true
	request = slices.Clone(request) // the buffer is the server's
	w.f.wait.Go(func() { w.run(request) })
	return fuse.OK
}

func (w *workFile) run(request []byte) {
	var changed []string
	err := w.do(w.ctx, request, w, func(path string) {
		dirPath, name := split(path)
		if dir := w.f.tree.at(dirPath); dir != nil {
			w.f.keepOpened(dir, name)
		}
		changed = append(changed, path)
	})
	if err != nil {
		w.f.log.Error("a task ended early", "err", err)
	}
	dirs := map[string]bool{}
	for _, path := range changed {
		w.f.notify.announce(path, false)
		dir, _ := split(path)
		dirs[dir] = true
	}
	for dir := range dirs { // which may have come or gone with it
		w.f.notify.announce(dir, false)
	}
	w.f.notify.everything(controlDir + "/" + versionsDir)
	w.change(func() { w.ended = true })
}

func (w *workFile) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
	close(w.moved)
	w.moved = make(chan struct{})
}

// Write adds to the answer, and waits while much of it is unread.
func (w *workFile) Write(p []byte) (int, error) {
	for {
		w.mu.Lock()
		full, moved := len(w.said) >= maxSaid, w.moved
		w.mu.Unlock()
		if !full {
			w.change(func() { w.said = append(w.said, p...) })
			return len(p), w.ctx.Err()
		}
		select {
		case <-moved:
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
}

// read waits for more of the answer; before a request, and after the end,
// there is none.
func (w *workFile) read(cancel <-chan struct{}, buf []byte) (int, fuse.Status) {
	for {
		w.mu.Lock()
		waits, moved := w.started && !w.ended && len(w.said) == 0, w.moved
		w.mu.Unlock()
		if !waits {
			n := 0
			w.change(func() {
				n = copy(buf, w.said)
				w.said = w.said[n:]
			})
			return n, fuse.OK
		}
		select {
		case <-moved:
		case <-cancel:
			return 0, fuse.Status(syscall.EINTR)
		}
	}
}
