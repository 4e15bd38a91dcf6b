package fusefs

import (
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/backing"
	"ctxfs/room"
)

// place is where a node lies. There may be a hundred thousand of them, so the
// path is kept once.
type place struct {
	room room.Room
	full string // path from the top of the mount
	top  int    // length of the path of the room itself
}

// child is the place of name in a directory at p.
func (p place) child(name string) place {
	return place{p.room, join(p.full, name), p.top}
}

// path is the path in the room.
func (p place) path() string {
	if p.top == 0 {
		return p.full
	}
	return strings.TrimPrefix(p.full[p.top:], "/")
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// node is one thing that the kernel knows by number. There may be a hundred
// thousand of them: the order of the fields leaves no gaps.
type node struct {
	id      uint64
	dir     *node  // nil at the top; with name, place and lookups guarded by tree.mu
	name    string // in dir
	place   place
	lookups uint64 // that the kernel has not taken back
	tree    *tree  // set once

	// Of a directory.
	changes atomic.Uint64 // counts announcements of changes in it

	mu    sync.Mutex // guards what follows
	info  room.Info
	draft *draft // not nil: the node is, or was, a draft's
	opens int32  // read-only opens of an Object
	// wasDraft: the kernel's pages of it may be those of a draft.
	wasDraft bool
	files    []*plainFile // open handles of a Plain file

	reading     sync.Mutex      // guards what follows; taken before mu
	content     backing.Content // of the opens, from the first READ on
	backingID   int32           // of content, where the kernel reads it itself
	cachedReads bool            // the kernel did not take it
}

// become takes over info where n is the same thing as what info describes,
// and reports whether it is.
func (n *node) become(info room.Info) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.draft != nil || n.info.Kind != info.Kind {
		return false
	}
	if info.Kind == room.Object && n.info.Revision != info.Revision {
		return false
	}
	n.info = info
	return true
}

// describe is n's info; that of a draft is as the draft is now.
func (n *node) describe() room.Info {
	n.mu.Lock()
	info, d := n.info, n.draft
	n.mu.Unlock()
	if d != nil {
		return d.Info()
	}
	return info
}

// ino is what stat(2) shows. All revisions and drafts of an Object share it,
// since programs take another number for another file: it is derived from
// the path. What lies in the store as it is shows its number there; the node's
// own would be another one when the kernel has forgotten it and looks again.
// The highest bits keep the kinds of numbers apart.
func (n *node) ino(info room.Info, full string) uint64 {
	switch {
	case info.Kind == room.Object:
		return inoOf(n.tree.seed, full)
	case info.Number != 0:
		return info.Number | 1<<62
	}
	return n.id
}

// The seed is the mount's: what holds a file is found by this number among
// all processes, and another mount may show the same path.
func inoOf(seed, full string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(seed))
	h.Write([]byte{0})
	h.Write([]byte(full))
	return h.Sum64() | 1<<63
}

// inoListed is ino before there is a node.
func (t *tree) inoListed(info room.Info, full string) uint64 {
	if info.Kind != room.Object && info.Number != 0 {
		return info.Number | 1<<62
	}
	return inoOf(t.seed, full)
}

var typeBits = map[room.Kind]uint32{
	room.Dir:     fuse.S_IFDIR,
	room.Object:  fuse.S_IFREG,
	room.Plain:   fuse.S_IFREG,
	room.Virtual: fuse.S_IFREG,
	room.Link:    fuse.S_IFLNK,
}

const blockSize = 4096

// fill writes info as the kernel's attributes.
func (n *node) fill(a *fuse.Attr, info room.Info, full string) {
	a.Ino = n.ino(info, full)
	a.Size = uint64(info.Size)
	a.Blocks = (a.Size + 511) / 512
	a.Blksize = blockSize
	a.Mode = typeBits[info.Kind] | uint32(info.Mode.Perm())
	a.Nlink = 1
	if info.Kind == room.Dir {
		a.Nlink = 2
	}
	a.Uid, a.Gid = info.UID, info.GID
	sec, nsec := uint64(info.ModTime.Unix()), uint32(info.ModTime.Nanosecond())
	a.Mtime, a.Ctime, a.Atime = sec, sec, sec
	a.Mtimensec, a.Ctimensec, a.Atimensec = nsec, nsec, nsec
}

// draftEntry answers with the node of a draft. The name is not to be kept: it
// leads others elsewhere. The attributes are, for only this draft's writers
// change them, and the kernel sees how.
func (n *node) draftEntry(out *fuse.EntryOut, full string) {
	n.entry(out, n.describe(), full, 0)
	out.SetAttrTimeout(CacheTime)
}

// cached is how long the kernel may keep what it was told of such a thing.
// A Plain file can be renamed onto an entry's name, and changes in place; a
// Virtual one is made anew for each open.
func cached(info room.Info) time.Duration {
	if info.Volatile || info.Kind != room.Dir && info.Kind != room.Object {
		return 0
	}
	return CacheTime
}

// entry answers a LOOKUP-like request with n.
func (n *node) entry(out *fuse.EntryOut, info room.Info, full string, valid time.Duration) {
	out.NodeId = n.id
	out.Generation = 1
	out.SetEntryTimeout(valid)
	out.SetAttrTimeout(valid)
	n.fill(&out.Attr, info, full)
}
