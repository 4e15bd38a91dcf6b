package fusefs

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/backing"
	"ctxfs/room"
)

// Open opens a file. The node says which version.
func (f *FS) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	f.stats.opens.Add(1)
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.Status(syscall.ESTALE)
	}
	v := f.divert.take(in.Pid)
	defer f.giveUp(v)
	info := n.describe()
	kind := info.Kind
	if kind == room.Object && !f.permit(&in.InHeader, info, wants(in.Flags)) {
		return fuse.EACCES
	}
	switch {
	case kind == room.Plain:
		return f.openPlain(in, n, out)
	case kind == room.Virtual:
		return f.openVirtual(cancel, in, n, out)
	case writes(in.Flags):
		return f.openDraft(in, n, v, out)
	}
	return f.openCommitted(cancel, in, n, v, out)
}

func writes(flags uint32) bool {
	return flags&syscall.O_ACCMODE != syscall.O_RDONLY || flags&syscall.O_TRUNC != 0
}

// openCommitted opens a version for reading. Its content is opened at the
// first READ, as most reads are answered by the kernel's cache; and there is
// nothing to flush.
func (f *FS) openCommitted(cancel <-chan struct{}, in *fuse.OpenIn, n *node, v *diversion, out *fuse.OpenOut) fuse.Status {
	n.mu.Lock()
	if n.draft != nil {
		n.mu.Unlock()
		return f.openTaken(in, n, v, out)
	}
	n.opens++
	out.OpenFlags = fuse.FOPEN_NOFLUSH
	if !n.wasDraft {
		out.OpenFlags |= fuse.FOPEN_KEEP_CACHE
	}
	n.wasDraft = false
	n.mu.Unlock()
	dir, name, p := f.tree.where(n)
	// A draft that has been committed and is still open may replace this
	// very version, and then no room keeps it.
	err := f.opened(f.request(cancel), n, p, f.divert.drafting(dir, name), out)
	if err == nil {
		return fuse.OK
	}
	f.closeCommitted(n)
	if errors.Is(err, backing.ErrNotFound) {
		return f.lookAgain(in, n, v, out)
	}
	return f.status("open", p.full, err)
}

// opened opens what must be open before the OPEN is answered: a version that
// may be kept nowhere once it is replaced, which is so if drafting is set too,
// and what the kernel reads itself. It is backing.ErrNotFound where that has
// happened.
func (f *FS) opened(ctx context.Context, n *node, p place, drafting bool, out *fuse.OpenOut) error {
	_, keeps := p.room.(room.Keeper)
	if !keeps || drafting || f.wantsPassthrough(n) {
		if err := f.version(ctx, n, p); err != nil {
			return err
		}
	}
	f.passthrough(n, out)
	return nil
}

// lookAgain sends a thread back to the name, whose version was replaced
// between its LOOKUP and its OPEN: the kernel's pages of n are those of a
// version that cannot be read to its end. The LOOKUP finds one that can. Who
// was sent back before gets what there is now, past the kernel's pages.
func (f *FS) lookAgain(in *fuse.OpenIn, n *node, v *diversion, out *fuse.OpenOut) fuse.Status {
	if v != nil {
		return f.openShared(in, n, out)
	}
	dir, name, _ := f.tree.where(n)
	f.notify.forgetNode(dir, name, n)
	f.send(in, &diversion{slot: slot{dir.id, name}, from: n})
	return fuse.Status(syscall.ESTALE)
}

func (f *FS) closeCommitted(n *node) {
	n.reading.Lock()
	n.mu.Lock()
	n.opens--
	last := n.opens == 0
	n.mu.Unlock()
	var content backing.Content
	if last {
		f.unregister(n)
		content, n.content = n.content, nil
	}
	n.reading.Unlock()
	if last {
		f.locks.closed(n, 0)
	}
	if content != nil {
		f.closed(content, "version")
	}
}

// closed closes what was only read. That can't lose anything, but an error
// of it is worth knowing.
func (f *FS) closed(c interface{ Close() error }, what string) {
	if err := c.Close(); err != nil {
		f.log.Error("close failed", "what", what, "err", err)
	}
}

// openPlain opens an ordinary file, for reading too: it may change meanwhile.
func (f *FS) openPlain(in *fuse.OpenIn, n *node, out *fuse.OpenOut) fuse.Status {
	_, _, p := f.tree.where(n)
	flags := int(in.Flags) & (syscall.O_ACCMODE | syscall.O_TRUNC | syscall.O_APPEND)
	c := caller(&in.InHeader)
	if writes(in.Flags) {
		c = f.named(&in.InHeader)
	}
	w, _, err := p.room.Write(f.ctx, c, p.path(), room.Create{Flags: flags})
	if errors.Is(err, backing.ErrNotFound) {
		// It was removed, or renamed onto an entry: the kernel shall
		// resolve the name again.
		return fuse.Status(syscall.ESTALE)
	}
	if err != nil {
		return f.status("open", p.full, err)
	}
	if f.shared(c) && !f.sameAsJudged(n, w) {
		f.closed(w, "file")
		return fuse.Status(syscall.ESTALE)
	}
	return f.addPlain(n, p, w, in.Flags, out)
}

// sameAsJudged reports whether the open file has the owner and the mode by
// which the kernel let its user in. Somebody may have put another file in its
// place, in the store itself.
func (f *FS) sameAsJudged(n *node, w room.File) bool {
	file, ok := w.(backing.File)
	if !ok {
		return true // addPlain says what is to be done
	}
	m, err := file.Stat()
	is := n.describe()
	return err == nil && m.Mode.Perm() == is.Mode.Perm() && m.UID == is.UID && m.GID == is.GID
}

func (f *FS) addPlain(n *node, p place, w room.File, flags uint32, out *fuse.OpenOut) fuse.Status {
	file, ok := w.(backing.File)
	if !ok {
		// It became an entry between the LOOKUP and now.
		f.closed(w, "draft")
		return fuse.Status(syscall.ESTALE)
	}
	h := &plainFile{file, n, writes(flags)}
	n.addFile(h)
	out.Fh = f.handles.add(h)
	if _, ok := file.(room.Appender); ok {
		out.OpenFlags = fuse.FOPEN_DIRECT_IO // the kernel can't know what becomes of a write
	}
	if flags&syscall.O_APPEND != 0 && h.writes && file.Fd() == backing.NoDescriptor {
		// A write that begins in a page which the kernel has not read is sent
		// in two, one for each page; another host might append in between.
		out.OpenFlags = fuse.FOPEN_DIRECT_IO
	}
	return fuse.OK
}

// openVirtual opens content that is made now and has no size before.
func (f *FS) openVirtual(cancel <-chan struct{}, in *fuse.OpenIn, n *node, out *fuse.OpenOut) fuse.Status {
	_, _, p := f.tree.where(n)
	if writes(in.Flags) {
		if c, ok := p.room.(*control); ok && c.f.o.Work[p.path()] != nil {
			return f.openWork(in, c.f.o.Work[p.path()], out)
		}
		return fuse.EROFS
	}
	p = f.seenBy(&in.InHeader, p) // who opens may be another one than who looked it up
	content, err := p.room.Read(f.request(cancel), p.path(), "")
	if err != nil {
		return f.status("open", p.full, err)
	}
	out.Fh = f.handles.add(&fixedFile{content})
	out.OpenFlags = fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH
	return fuse.OK
}

// Create makes a file, which the kernel believes not to exist.
func (f *FS) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	f.stats.opens.Add(1)
	dir := f.tree.get(in.NodeId)
	if dir == nil {
		return fuse.ENOENT
	}
	p := f.seenBy(&in.InHeader, f.placeOf(dir, name))
	o := room.Create{New: true, Exclusive: in.Flags&syscall.O_EXCL != 0,
		Mode: fs.FileMode(in.Mode & 0o777), Flags: int(in.Flags)}
	w, info, err := p.room.Write(f.ctx, f.named(&in.InHeader), p.path(), o)
	if err != nil {
		return f.status("create", p.full, err)
	}
	if d, ok := w.(room.Draft); ok {
		n := &node{dir: dir, name: name, place: p, info: info}
		started := f.begin(d, n, in.Pid)
		if in.Flags&syscall.O_TRUNC != 0 && d.Size() > 0 {
			err = d.Truncate(0) // another host or program made it meanwhile
		}
		f.tree.unnamed(n)
		out.OpenOut = f.hold(started)
		n.draftEntry(&out.EntryOut, p.full)
		return f.status("create", p.full, err)
	}
	n := f.tree.lookup(dir, name, p, info)
	n.entry(&out.EntryOut, info, p.full, 0)
	return f.addPlain(n, p, w, in.Flags, &out.OpenOut)
}

// Release is the end of an open file. Nobody hears its result.
func (f *FS) Release(cancel <-chan struct{}, in *fuse.ReleaseIn) {
	if n := f.tree.get(in.NodeId); n != nil {
		f.locks.release(n, in)
		if in.Fh == 0 {
			f.closeCommitted(n)
			return
		}
	}
	f.release(f.handles.remove(in.Fh))
}

func (f *FS) release(handle any) {
	switch h := handle.(type) {
	case draftHandle:
		f.letGo(h.draft)
	case *plainFile:
		h.node.removeFile(h)
		f.closed(h, "file")
	case *fixedFile:
		f.closed(h, "content")
	case *workFile:
		h.cancel()
	}
}
