package fusefs

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

// member is the place of a request that changes a name: the directory's node, and
// where the name lies.
func (f *FS) member(h *fuse.InHeader, id uint64, name string) (*node, place, fuse.Status) {
	dir := f.tree.get(id)
	if dir == nil {
		return nil, place{}, fuse.ENOENT
	}
	return dir, f.seenBy(h, f.placeOf(dir, name)), fuse.OK
}

// Mkdir makes a directory.
func (f *FS) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	dir, p, st := f.member(&in.InHeader, in.NodeId, name)
	if !st.Ok() {
		return st
	}
	defer f.notify.making(dir, name)()
	info, err := p.room.MakeDir(f.ctx, f.named(&in.InHeader), p.path(), fs.FileMode(in.Mode&0o777))
	if err != nil {
		f.notify.later(dir, name) // somebody else may have made it
		return f.status("mkdir", p.full, err)
	}
	n := f.tree.lookup(dir, name, p, info)
	n.entry(out, info, p.full, cached(info))
	return fuse.OK
}

// Rmdir removes an empty directory.
func (f *FS) Rmdir(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	dir, p, st := f.member(h, h.NodeId, name)
	if !st.Ok() {
		return st
	}
	if err := p.room.RemoveDir(f.ctx, f.named(h), p.path()); err != nil {
		f.unsure(err, p.full)
		return f.status("rmdir", p.full, err)
	}
	f.tree.drop(dir, name)
	return fuse.OK
}

// Unlink removes a file, where its room allows it.
func (f *FS) Unlink(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	dir, p, st := f.member(h, h.NodeId, name)
	if !st.Ok() {
		return st
	}
	f.keepOpened(dir, name)
	if err := p.room.Remove(f.ctx, f.named(h), p.path()); err != nil {
		f.unsure(err, p.full)
		return f.status("unlink", p.full, err)
	}
	f.tree.drop(dir, name)
	return fuse.OK
}

// Rename moves a file. When it returns the kernel moves its own name, so that
// the old node stands under the new one; where a room made something else of
// it (a scratch file became an entry, an entry a backup), the kernel is told
// to look again. It holds both directories' locks until then, so that is told
// by the notifier.
func (f *FS) Rename(cancel <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	oldDir, from, st := f.member(&in.InHeader, in.NodeId, oldName)
	if !st.Ok() {
		return st
	}
	newDir, to, st := f.member(&in.InHeader, in.Newdir, newName)
	if !st.Ok() {
		return st
	}
	if !sameRoom(f, oldDir, newDir) {
		return fuse.EXDEV
	}
	f.keepOpened(newDir, newName)
	// The room may announce the change before it returns, and the name lead
	// nowhere then.
	moved := f.tree.find(oldDir, oldName)
	if err := from.room.Rename(f.ctx, f.named(&in.InHeader), from.path(), to.path(), uint(in.Flags)); err != nil {
		f.unsure(err, from.full, to.full)
		return f.status("rename", to.full, err)
	}
	info, err := to.room.Stat(f.ctx, to.path())
	if err == nil && in.Flags&^unix.RENAME_NOREPLACE == 0 && moved != nil && moved.movedAs(info) {
		f.tree.move(moved, newDir, newName, to)
		return fuse.OK
	}
	f.tree.drop(oldDir, oldName)
	f.tree.drop(newDir, newName)
	f.notify.later(oldDir, oldName)
	f.notify.later(newDir, newName)
	return fuse.OK
}

// unsure has the kernel look again at paths that have changed though err was
// told, as where only the sync of a rename failed.
func (f *FS) unsure(err error, paths ...string) {
	if !errors.Is(err, backing.ErrUnknown) {
		return
	}
	for _, path := range paths {
		f.notify.changed(path, false)
	}
}

// movedAs takes over info, of what a rename has put in another place, where n
// is still the same thing, and reports whether it is: an ordinary file, a
// directory, or an Object with the same content, which may have got another
// revision.
func (n *node) movedAs(info room.Info) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.draft != nil || n.info.Kind != info.Kind:
		return false
	case info.Kind == room.Object:
		if n.info.Size != info.Size || !n.info.ModTime.Equal(info.ModTime) {
			return false
		}
	case info.Kind != room.Plain && info.Kind != room.Dir:
		return false
	}
	n.info = info
	return true
}

// sameRoom reports whether two directories are of one room, by whomever seen.
func sameRoom(f *FS, a, b *node) bool {
	top := func(n *node) string {
		_, _, p := f.tree.where(n)
		return p.full[:p.top]
	}
	return top(a) == top(b)
}

// Symlink makes a symbolic link: an editor's lock.
func (f *FS) Symlink(cancel <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	dir, p, st := f.member(h, h.NodeId, name)
	if !st.Ok() {
		return st
	}
	info, err := p.room.Symlink(f.ctx, f.named(h), target, p.path())
	if err != nil {
		return f.status("symlink", p.full, err)
	}
	n := f.tree.lookup(dir, name, p, info)
	n.entry(out, info, p.full, 0)
	return fuse.OK
}

// Readlink says what a symbolic link says.
func (f *FS) Readlink(cancel <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	n := f.tree.get(h.NodeId)
	if n == nil {
		return nil, fuse.ENOENT
	}
	_, _, p := f.tree.where(n)
	target, err := p.room.Readlink(f.request(cancel), p.path())
	return []byte(target), f.status("readlink", p.full, err)
}

// Link is refused: two names would be two paths of one entry.
func (f *FS) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Mknod is refused, but for a regular file, which is made by CREATE where the
// kernel has it and so is not asked for.
func (f *FS) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Tmpfile is not offered: a file without a name has no path to be judged by.
func (f *FS) Tmpfile(cancel <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	return fuse.Status(syscall.EOPNOTSUPP)
}

// Ioctl is never passed on: some would shut down the disk under the store.
func (f *FS) Ioctl(cancel <-chan struct{}, in *fuse.IoctlIn, inbuf []byte, out *fuse.IoctlOut, outbuf []byte) fuse.Status {
	return fuse.Status(syscall.ENOTTY)
}
