package fusefs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/room"
)

// The modes of Objects bind their writers and readers as those of any file
// do, though the daemon, which replaces files, could pass over them. All else
// is checked by the system calls on the store. Where the kernel checks
// (--allow-other), what it let through is not checked again.

// permit reports whether h's user may use info with the bits of mask: 4 to
// read, 2 to write, 1 to execute or search.
func (f *FS) permit(h *fuse.InHeader, info room.Info, mask uint32) bool {
	return f.o.AllowOther || info.Permits(caller(h), mask)
}

// wants is what an open asks for.
func wants(flags uint32) uint32 {
	switch flags & syscall.O_ACCMODE {
	case syscall.O_WRONLY:
		return 2
	case syscall.O_RDWR:
		return 6
	}
	if flags&syscall.O_TRUNC != 0 {
		return 6
	}
	return 4
}

// Access answers access(2).
func (f *FS) Access(cancel <-chan struct{}, in *fuse.AccessIn) fuse.Status {
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	_, _, p := f.tree.where(n)
	info, err := f.attributes(f.request(cancel), n, p)
	if err != nil {
		return f.status("access", p.full, err)
	}
	if !f.permit(&in.InHeader, info, in.Mask) {
		return fuse.EACCES
	}
	return fuse.OK
}
