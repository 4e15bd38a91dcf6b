package fusefs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/backing"
	"ctxfs/room"
)

// placeOf is where name in dir lies: the top leads into the other rooms.
func (f *FS) placeOf(dir *node, name string) place {
	_, _, p := f.tree.where(dir)
	if dir == f.tree.root {
		if r := f.rooms()[name]; r != nil {
			return place{r, name, len(name)}
		}
		p.room = f.o.Root // itself, with what it can do besides
	}
	return p.child(name)
}

// seenBy is a place as the caller sees it.
func (f *FS) seenBy(h *fuse.InHeader, p place) place {
	if v, ok := p.room.(room.Viewer); ok && v.PerCaller(p.path()) {
		p.room = v.For(f.named(h))
	}
	return p
}

// Lookup finds a name. A thread that was sent back to look once more finds
// what was made for it, see divert.go.
func (f *FS) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	f.stats.lookups.Add(1)
	dir := f.tree.get(h.NodeId)
	if dir == nil {
		return fuse.ENOENT
	}
	if n := f.diverted(h, dir, name); n != nil {
		_, _, p := f.tree.where(n)
		n.draftEntry(out, p.full)
		return fuse.OK
	}
	seen := dir.changes.Load()
	p := f.seenBy(h, f.placeOf(dir, name))
	n, info, err := f.lookup(f.request(cancel), h, dir, name, p)
	if errors.Is(err, backing.ErrNotFound) {
		// The name's absence is worth keeping: searches ask each
		// directory for ignore files. A .rej comes with the answer to
		// a request that may hold the directory, so that it cannot be
		// announced before (RENAME).
		if !strings.HasSuffix(name, rejected) && f.tree.absent(dir, name) {
			out.SetEntryTimeout(dir.since(seen, cached(dir.describe())))
		}
		return fuse.OK
	}
	if err != nil {
		return f.status("lookup", p.full, err)
	}
	n.entry(out, info, p.full, dir.since(seen, cached(info)))
	return fuse.OK
}

// lookTries bounds how often a LOOKUP follows a name that is replaced all the
// time.
const lookTries = 100

// lookup finds what stands under a name now, and its node.
func (f *FS) lookup(ctx context.Context, h *fuse.InHeader, dir *node, name string, p place) (*node, room.Info, error) {
	for tries := 1; ; tries++ {
		info, err := p.room.Stat(ctx, p.path())
		if err != nil {
			return nil, info, err
		}
		n := f.tree.lookup(dir, name, p, info)
		if f.pinned(h, dir, name, n) || tries == lookTries {
			return n, info, nil
		}
		f.tree.forget(n.id, 1)
	}
}

// since is how long the kernel may keep what was read of a directory when its
// count of changes was seen: not at all if there were changes since then, as
// their announcement may have come too early for it.
func (n *node) since(seen uint64, valid time.Duration) time.Duration {
	if n.changes.Load() != seen {
		return 0
	}
	return valid
}

// Forget takes back lookups.
func (f *FS) Forget(id, count uint64) { f.tree.forget(id, count) }

// GetAttr answers stat(2) and fstat(2). The node says which version or draft
// is meant.
func (f *FS) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	_, _, p := f.tree.where(n)
	info, err := f.attributes(f.request(cancel), n, p)
	if err != nil {
		return f.status("stat", p.full, err)
	}
	out.SetTimeout(cached(info))
	n.fill(&out.Attr, info, p.full)
	if n.removed() {
		out.Nlink = 0
	}
	return fuse.OK
}
