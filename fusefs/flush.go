package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ctxfs/room"
)

// appending is the flag of open(2) that moves each write to the end: the
// kernel counts from the size that it knows, which is not the draft's where
// another handle appends too.
const appending = unix.O_APPEND

// Flush comes with every close(2), also of copies that children inherited. It
// is the only close whose result a program sees.
func (f *FS) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	if n := f.tree.get(in.NodeId); n != nil {
		f.locks.flush(n, in.LockOwner)
	}
	switch h := f.handles.get(in.Fh).(type) {
	case draftHandle:
		return f.flush(h.draft, &in.InHeader)
	case *plainFile:
		if lines, ok := h.File.(room.Flusher); ok {
			return f.status("close", h.node.name, lines.Flush())
		}
	}
	return fuse.OK
}
