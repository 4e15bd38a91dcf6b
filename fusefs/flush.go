package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
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
	if h, ok := f.handles.get(in.Fh).(draftHandle); ok {
		return f.flush(h.draft, &in.InHeader)
	}
	return fuse.OK
}
