package fusefs

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/room"
)

// dirHandle is an open directory, and its listing.
type dirHandle struct {
	node  *node
	place place

	mu     sync.Mutex // guards what follows
	seen   uint64     // node.changes when the listing began
	listed bool
	all    []member // in the order of their cookies
}

// member is a name in a listing. Its cookie is where the kernel goes on after
// it, and depends on nothing but the name: the kernel goes on in listings of
// other handles, which were made at other times, and keeps one that it put
// together of several. With positions in its place names would be listed
// twice, or not at all.
type member struct {
	cookie uint64
	info   room.Info
}

// The cookies of "." and "..". Those of names are greater.
const (
	selfCookie   = 1
	parentCookie = 2
)

// cookieOf is positive as an off_t. Two names of one directory with the same
// cookie, one pair in billions, are harmless but for a listing that is cut
// just between them.
func cookieOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return max(h.Sum64()>>1, parentCookie+1)
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

// list gives what comes after the cookie in.Offset to add, until it has no
// more room.
func (f *FS) list(cancel <-chan struct{}, in *fuse.ReadIn, add func(*dirHandle, fuse.DirEntry, *room.Info) bool) fuse.Status {
	h, ok := f.handles.get(in.Fh).(*dirHandle)
	if !ok {
		return fuse.EBADF
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// At 0, after rewinddir too, it is what is there now.
	if in.Offset == 0 || !h.listed {
		if err := h.read(f.request(cancel)); err != nil {
			return f.status("list", h.place.full, err)
		}
	}
	if in.Offset < parentCookie && !h.addDots(in.Offset, add) {
		return fuse.OK
	}
	next, _ := slices.BinarySearchFunc(h.all, in.Offset, func(m member, after uint64) int {
		if m.cookie <= after {
			return -1
		}
		return 1
	})
	for i := next; i < len(h.all); i++ {
		m := &h.all[i]
		e := fuse.DirEntry{Name: m.info.Name, Mode: typeBits[m.info.Kind], Off: m.cookie,
			Ino: f.tree.inoListed(m.info, join(h.place.full, m.info.Name))}
		if !add(h, e, &m.info) {
			return fuse.OK
		}
	}
	return fuse.OK
}

// addDots gives "." and "..", and reports whether there was room for both.
func (h *dirHandle) addDots(after uint64, add func(*dirHandle, fuse.DirEntry, *room.Info) bool) bool {
	above := h.node.id
	if h.node.dir != nil {
		above = h.node.dir.id
	}
	if after < selfCookie && !add(h, fuse.DirEntry{Name: ".", Mode: fuse.S_IFDIR, Ino: h.node.id, Off: selfCookie}, nil) {
		return false
	}
	return add(h, fuse.DirEntry{Name: "..", Mode: fuse.S_IFDIR, Ino: above, Off: parentCookie}, nil)
}

// read lists the directory anew. h.mu is held.
func (h *dirHandle) read(ctx context.Context) error {
	h.all, h.listed = nil, false
	h.seen = h.node.changes.Load()
	for after := ""; ; {
		infos, err := h.place.room.List(ctx, h.place.path(), after, page)
		if err != nil {
			return err
		}
		for _, info := range infos {
			h.all = append(h.all, member{cookieOf(info.Name), info})
			after = info.Name
		}
		if len(infos) < page {
			break
		}
	}
	slices.SortFunc(h.all, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.cookie, b.cookie), cmp.Compare(a.info.Name, b.info.Name))
	})
	h.listed = true
	return nil
}
