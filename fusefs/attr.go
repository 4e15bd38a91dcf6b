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

// attributes is what n looks like now.
func (f *FS) attributes(ctx context.Context, n *node, p place) (room.Info, error) {
	info := n.describe()
	if info.Kind == room.Object {
		return info, nil // of this revision, and those don't change
	}
	if info.Kind == room.Plain {
		now := info
		found, err := n.through(false, func(h *plainFile) error {
			m, err := h.Stat()
			now = plainInfo(info.Name, m)
			return err
		})
		if found {
			return now, err
		}
	}
	now, err := p.room.Stat(ctx, p.path())
	if err != nil {
		return info, err
	}
	n.become(now)
	return now, nil
}

func plainInfo(name string, m backing.Meta) room.Info {
	return room.Info{Name: name, Kind: room.Plain, Size: m.Size, ModTime: m.ModTime,
		Mode: m.Mode, UID: m.UID, GID: m.GID, Revision: m.Revision, Number: m.Number}
}

// SetAttr changes size, mode, owner or times.
func (f *FS) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	_, _, p := f.tree.where(n)
	if size, ok := in.GetSize(); ok {
		if st := f.resize(in, n, p, int64(size)); !st.Ok() {
			return st
		}
	}
	if a := change(in); a != (backing.AttrChange{}) {
		if err := f.setAttr(in, n, p, a); err != nil {
			return f.status("setattr", p.full, err)
		}
	}
	info, err := f.attributes(f.request(cancel), n, p)
	if err != nil {
		return f.status("stat", p.full, err)
	}
	out.SetTimeout(cached(info))
	n.fill(&out.Attr, info, p.full)
	return fuse.OK
}

// change is what a SETATTR asks for besides the size. Bits that would give
// rights to whoever runs a file are dropped.
func change(in *fuse.SetAttrIn) (a backing.AttrChange) {
	if mode, ok := in.GetMode(); ok {
		m := fs.FileMode(mode & 0o777)
		a.Mode = &m
	}
	if t, ok := in.GetMTime(); ok {
		a.ModTime = &t
	}
	if uid, ok := in.GetUID(); ok {
		a.UID = &uid
	}
	if gid, ok := in.GetGID(); ok {
		a.GID = &gid
	}
	return a
}

func (f *FS) setAttr(in *fuse.SetAttrIn, n *node, p place, a backing.AttrChange) error {
	n.mu.Lock()
	d := n.draft
	n.mu.Unlock()
	if d != nil {
		return d.SetAttr(f.ctx, a)
	}
	info, err := p.room.SetAttr(f.ctx, caller(&in.InHeader), p.path(), a)
	if err != nil {
		return err
	}
	// The same node stays: what it shows is the same content, under the
	// revision that the change of metadata gave it. An older version, which
	// somebody still has open, stays what it is.
	if dir, name, _ := f.tree.where(n); f.tree.find(dir, name) != n {
		return nil
	}
	n.mu.Lock()
	if n.info.Kind == info.Kind {
		n.info = info
	}
	n.mu.Unlock()
	return nil
}

// resize is truncate(2) and ftruncate(2).
func (f *FS) resize(in *fuse.SetAttrIn, n *node, p place, size int64) fuse.Status {
	n.mu.Lock()
	d, kind := n.draft, n.info.Kind
	n.mu.Unlock()
	switch {
	case d != nil:
		return f.status("truncate", p.full, d.truncate(f, &in.InHeader, size))
	case kind == room.Dir:
		return fuse.EISDIR
	}
	if fh, ok := in.GetFh(); ok {
		if h, ok := f.handles.get(fh).(*plainFile); ok {
			return f.status("truncate", p.full, h.Truncate(size))
		}
	}
	// Any other handle will do where the file has no name any more.
	if found, err := n.through(true, func(h *plainFile) error { return h.Truncate(size) }); found {
		return f.status("truncate", p.full, err)
	}
	if dir, name, _ := f.tree.where(n); kind == room.Object {
		f.keepOpened(dir, name)
	}
	w, _, err := p.room.Write(f.ctx, f.named(&in.InHeader), p.path(), room.Create{Flags: syscall.O_WRONLY})
	if err != nil {
		return f.status("truncate", p.full, err)
	}
	err = errors.Join(f.truncatePath(w, in, size), w.Close())
	if dir, name, _ := f.tree.where(n); err == nil && kind == room.Object {
		f.notify.forgetNode(dir, name, n)
	}
	return f.status("truncate", p.full, err)
}

// truncatePath is truncate(2) on a name: on an entry a save of its own.
func (f *FS) truncatePath(w room.File, in *fuse.SetAttrIn, size int64) error {
	d, ok := w.(room.Draft)
	if !ok {
		return w.Truncate(size)
	}
	d.By(f.named(&in.InHeader))
	err := d.Truncate(size)
	if err == nil {
		err = d.Commit(f.ctx)
	}
	if err != nil {
		d.Refuse(f.ctx, err)
	}
	return err
}
