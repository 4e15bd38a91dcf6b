package fusefs

import (
	"context"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/room"
)

// dirHandle is an open directory: what has been listed of it so far.
type dirHandle struct {
	node  *node
	place place

	mu   sync.Mutex // guards what follows
	seen uint64     // node.changes when the listing began
	all  []room.Info
	done bool
}

// page is how many names are asked for at once.
const page = 1000

// OpenDir opens a directory. The kernel keeps the listing until it is told
// of a change.
func (f *FS) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	_, _, p := f.tree.where(n)
	out.Fh = f.handles.add(&dirHandle{node: n, place: f.seenBy(&in.InHeader, p)})
	if cached(n.describe()) > 0 {
		out.OpenFlags = fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
	}
	return fuse.OK
}

// ReleaseDir closes a directory.
func (f *FS) ReleaseDir(in *fuse.ReleaseIn) { f.handles.remove(in.Fh) }

// FsyncDir has nothing to do: what changes directories is durable when it
// returns.
func (f *FS) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return fuse.OK }

// ReadDir lists names.
func (f *FS) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return f.list(cancel, in, func(h *dirHandle, e fuse.DirEntry, info *room.Info) bool {
		return out.AddDirEntry(e)
	})
}

// ReadDirPlus lists names with what a LOOKUP of each would answer, which
// saves a request a file on the first walk.
func (f *FS) ReadDirPlus(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return f.list(cancel, in, func(h *dirHandle, e fuse.DirEntry, info *room.Info) bool {
		entry := out.AddDirLookupEntry(e)
		if entry == nil {
			return false
		}
		if info == nil {
			return true // of "." and ".." the kernel wants no node
		}
		p := h.place.child(info.Name)
		if h.node == f.tree.root {
			p = f.placeOf(h.node, info.Name) // which may be another room's
		}
		n := f.tree.lookup(h.node, info.Name, p, *info)
		n.entry(entry, *info, p.full, h.node.since(h.seen, cached(*info)))
		return true
	})
}

// list gives the members from the offset on to add, until it has no more room.
func (f *FS) list(cancel <-chan struct{}, in *fuse.ReadIn, add func(*dirHandle, fuse.DirEntry, *room.Info) bool) fuse.Status {
	h, ok := f.handles.get(in.Fh).(*dirHandle)
	if !ok {
		return fuse.EBADF
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if in.Offset == 0 {
		h.all, h.done = nil, false // rewinddir sees what is there now
		h.seen = h.node.changes.Load()
	}
	ctx := f.request(cancel)
	for i := in.Offset; ; i++ {
		e := fuse.DirEntry{Mode: fuse.S_IFDIR, Off: i + 1}
		switch i {
		case 0:
			e.Name, e.Ino = ".", h.node.id
		case 1:
			e.Name, e.Ino = "..", h.node.id
			if h.node.dir != nil {
				e.Ino = h.node.dir.id
			}
		default:
			info, err := h.at(ctx, f, int(i-2))
			if err != nil {
				return f.status("list", h.place.full, err)
			}
			if info == nil {
				return fuse.OK
			}
			e.Name, e.Mode = info.Name, typeBits[info.Kind]
			e.Ino = inoOf(f.tree.seed, join(h.place.full, info.Name))
			if !add(h, e, info) {
				return fuse.OK
			}
			continue
		}
		if !add(h, e, nil) {
			return fuse.OK
		}
	}
}

// at returns the member number i, nil after the last. h.mu is held.
func (h *dirHandle) at(ctx context.Context, f *FS, i int) (*room.Info, error) {
	for i >= len(h.all) && !h.done {
		after := ""
		if len(h.all) > 0 {
			after = h.all[len(h.all)-1].Name
		}
		infos, err := h.place.room.List(ctx, h.place.path(), after, page)
		if err != nil {
			return nil, err
		}
		h.all = append(h.all, infos...)
		h.done = len(infos) < page
	}
	if i >= len(h.all) {
		return nil, nil
	}
	return &h.all[i], nil
}
