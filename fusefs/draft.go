package fusefs

import (
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/room"
)

// draft is a room's draft as the mount sees it: who opened it and through
// how many handles.
type draft struct {
	room.Draft
	node   *node
	dir    *node
	name   string
	place  place
	opener uint32        // the thread that opened it
	began  time.Duration // when that was, since boot

	mu      sync.Mutex // guards what follows
	handles int
	known   bool // the writer has been named
	failed  bool // the last fsync or close was told that it is not committed
	closed  bool
	last    room.Info // what it was when it was closed
}

// begin makes n the node of d. The drafts' handles are counted from hold on.
func (f *FS) begin(d room.Draft, n *node, thread uint32) *draft {
	n.mu.Lock()
	defer n.mu.Unlock()
	return f.beginLocked(d, n, thread)
}

func (f *FS) beginLocked(d room.Draft, n *node, thread uint32) *draft {
	n.draft = &draft{Draft: d, node: n, dir: n.dir, name: n.name, place: n.place, opener: thread, began: sinceBoot()}
	f.drafts.Add(1)
	f.stats.drafts.Add(1)
	f.divert.count(n.dir, n.name, 1)
	return n.draft
}

// isDraft returns the draft whose node n is, nil if it is none's.
func (n *node) isDraft() *draft {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.draft
}

// hold opens a handle of d. Writes are not cached by the kernel, so that each
// learns its own error.
func (f *FS) hold(d *draft) fuse.OpenOut {
	d.mu.Lock()
	d.handles++
	d.mu.Unlock()
	return fuse.OpenOut{Fh: f.handles.add(draftHandle{d}), OpenFlags: fuse.FOPEN_DIRECT_IO}
}

// share counts one more handle, unless the last has been closed.
func (d *draft) share() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.handles == 0 {
		return false
	}
	d.handles++
	return true
}

// Info describes the draft, after its end as it was then.
func (d *draft) Info() room.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.last
	}
	return d.Draft.Info()
}

// by names the writer at the first change: only then it is worth the look,
// and the process that opens (a shell) is often not yet the one that writes.
func (d *draft) by(f *FS, h *fuse.InHeader) {
	d.mu.Lock()
	known := d.known
	d.known = true
	d.mu.Unlock()
	if !known {
		d.Draft.By(f.named(h))
	}
}

// told notes what the last fsync or close was told, or that there is something
// new to decide.
func (d *draft) told(st fuse.Status) fuse.Status {
	d.mu.Lock()
	d.failed = !st.Ok()
	d.mu.Unlock()
	return st
}

func (d *draft) write(f *FS, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	d.by(f, &in.InHeader)
	d.told(fuse.OK)
	var n int
	var err error
	if in.Flags&appending != 0 {
		n, err = d.Append(data)
	} else {
		n, err = d.WriteAt(data, int64(in.Offset))
	}
	if err != nil {
		return 0, f.refuse(d, "write", err)
	}
	return uint32(n), fuse.OK
}

func (d *draft) truncate(f *FS, h *fuse.InHeader, size int64) error {
	d.by(f, h)
	d.told(fuse.OK)
	return d.Truncate(size)
}

// flush is close(2) of one of the descriptors that share the handle.
func (f *FS) flush(d *draft, h *fuse.InHeader) fuse.Status {
	if !d.Changed() {
		return fuse.OK
	}
	held := f.held(d, h.Pid) // the look goes on while the commit is prepared
	err := f.commitIf(d, func() bool { return !held() })
	if err == nil || held() || f.heldByAnyone(d) {
		return d.told(fuse.OK) // what is missing may still be written
	}
	return d.told(f.refuse(d, "close", err))
}

// decide commits d, and tells what stands against it.
func (f *FS) decide(d *draft) fuse.Status {
	if err := f.commit(d); err != nil {
		return f.refuse(d, "commit", err)
	}
	return fuse.OK
}

// commit publishes d: when it returns, the name leads to the new version.
func (f *FS) commit(d *draft) error {
	return f.publish(d, func() error { return d.Commit(f.ctx) })
}

// commitIf is commit, withdrawn where sure says no.
func (f *FS) commitIf(d *draft, sure func() bool) error {
	return f.publish(d, func() error {
		if t, ok := d.Draft.(room.Tentative); ok {
			return t.CommitIf(f.ctx, sure)
		}
		if !sure() {
			return room.ErrWithdrawn
		}
		return d.Commit(f.ctx)
	})
}

func (f *FS) publish(d *draft, commit func() error) error {
	if !d.Changed() {
		return nil
	}
	f.keepOpened(d.dir, d.name)
	if err := commit(); err != nil {
		return err
	}
	f.stats.commits.Add(1)
	// Before the look for a node: a LOOKUP that saw the version before has
	// made its node by then, or finds that its answer is not to be kept.
	d.dir.changes.Add(1)
	if n := f.tree.find(d.dir, d.name); n != nil {
		f.notify.forgetNode(d.dir, d.name, n)
	}
	f.notify.committed(d.dir, d.name, d.Info().Revision)
	return nil
}

// rejected is how the name of a refused draft ends, after that of its file.
const rejected = ".rej"

// refuse lets the room keep what was refused and say why, and shows where.
func (f *FS) refuse(d *draft, op string, err error) fuse.Status {
	d.Refuse(f.ctx, err)
	f.notify.appeared(d.dir, d.name+rejected)
	return f.unexplained(op, d.place.full, err)
}

// letGo closes a handle. With the last one the draft ends: what was not
// decided before is decided now, though nobody is told but .ctxfs/errors. Who
// was told that it failed does not find it done afterwards.
func (f *FS) letGo(d *draft) {
	d.mu.Lock()
	d.handles--
	last, failed := d.handles == 0, d.failed
	d.mu.Unlock()
	if !last {
		return
	}
	if d.Changed() && !failed {
		f.decide(d)
	}
	f.end(d)
}

// abandon ends a draft that was never opened.
func (f *FS) abandon(n *node) {
	d := n.isDraft()
	if d == nil {
		return
	}
	d.mu.Lock()
	unused := d.handles == 0 && !d.closed
	d.mu.Unlock()
	if unused {
		f.end(d)
	}
}

func (f *FS) end(d *draft) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.last = d.Draft.Info()
	d.closed = true
	d.mu.Unlock()
	f.closed(d.Draft, "draft")
	f.settle(d)
	f.divert.count(d.dir, d.name, -1)
	f.stats.drafts.Add(-1)
	f.drafts.Done()
}

// settle leaves the node to the version that d, which has ended, was committed
// as, and that is longer than what d's writer wrote: whoever has the node from
// before may open it, or ask for its size. What the kernel knows of it is the
// writer's.
func (f *FS) settle(d *draft) {
	if d.last.Revision == "" {
		return // it was not committed
	}
	info, err := d.place.room.Stat(f.ctx, d.place.path())
	if err != nil || info.Revision != d.last.Revision {
		return // it was replaced, or cannot be looked at: a LOOKUP finds another node
	}
	f.notify.attributes(d.node)
	f.tree.settle(d.node, info)
}
