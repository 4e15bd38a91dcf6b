package fusefs

import (
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/room"
)

// Only attributes of users are anything to a room. The kernel and ls(1) ask
// every file for others (security.capability, ACLs): those are answered here.
const ours = "user."

// xattrs is the room of a node, if its files have attributes.
func (f *FS) xattrs(id uint64) (room.Xattrs, place, bool) {
	n := f.tree.get(id)
	if n == nil {
		return nil, place{}, false
	}
	_, _, p := f.tree.where(n)
	x, ok := p.room.(room.Xattrs)
	return x, p, ok
}

// GetXAttr answers getxattr(2).
func (f *FS) GetXAttr(cancel <-chan struct{}, h *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	x, p, ok := f.xattrs(h.NodeId)
	if !ok || !strings.HasPrefix(attr, ours) {
		return 0, fuse.Status(syscall.EOPNOTSUPP)
	}
	value, err := x.GetXattr(f.request(cancel), p.path(), attr)
	if err != nil {
		return 0, f.status("getxattr", p.full, err)
	}
	return fit(dest, value)
}

// ListXAttr answers listxattr(2).
func (f *FS) ListXAttr(cancel <-chan struct{}, h *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	x, p, ok := f.xattrs(h.NodeId)
	if !ok {
		return 0, fuse.OK
	}
	names, err := x.ListXattr(f.request(cancel), p.path())
	if err != nil {
		return 0, f.status("listxattr", p.full, err)
	}
	var list []byte
	for _, name := range names {
		list = append(append(list, name...), 0)
	}
	return fit(dest, list)
}

// fit copies value to dest, or says how much room it needs.
func fit(dest, value []byte) (uint32, fuse.Status) {
	if len(dest) < len(value) {
		return uint32(len(value)), fuse.ERANGE
	}
	return uint32(copy(dest, value)), fuse.OK
}

// SetXAttr answers setxattr(2).
func (f *FS) SetXAttr(cancel <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) fuse.Status {
	x, p, ok := f.xattrs(in.NodeId)
	if !ok || !strings.HasPrefix(attr, ours) {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	return f.status("setxattr", p.full, x.SetXattr(f.ctx, f.named(&in.InHeader), p.path(), attr, data))
}

// RemoveXAttr answers removexattr(2).
func (f *FS) RemoveXAttr(cancel <-chan struct{}, h *fuse.InHeader, attr string) fuse.Status {
	x, p, ok := f.xattrs(h.NodeId)
	if !ok || !strings.HasPrefix(attr, ours) {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	return f.status("removexattr", p.full, x.RemoveXattr(f.ctx, f.named(h), p.path(), attr))
}
