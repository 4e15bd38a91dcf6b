package fusefs

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/backing"
	"ctxfs/room"
)

// diversions are the threads that were answered ESTALE at OPEN and will look
// the name up once more, and what they are to find then.
type diversions struct {
	mu       sync.Mutex // guards what follows
	byThread map[uint32]*diversion
	drafts   map[slot]int // drafts open for the name
}

// diversion is one thread on its way from an OPEN that was answered ESTALE,
// by a LOOKUP, to the OPEN that follows it.
type diversion struct {
	slot slot
	from *node // what it tried to open
	to   *node // what its LOOKUP is to find; nil for the committed version
	pin  *node // the committed version that it did find, kept from being taken
	// looked: it has looked the name up. Who comes back to the same node
	// without, came by /proc/PID/fd.
	looked bool
	at     time.Time
}

// patience is how long a thread may take from one request to the next before
// what was made for it is given up.
const patience = 10 * time.Second

// openDraft opens an Object for writing: in any case with a draft of its own.
func (f *FS) openDraft(in *fuse.OpenIn, n *node, v *diversion, out *fuse.OpenOut) fuse.Status {
	if n.isDraft() != nil {
		return f.openTaken(in, n, v, out)
	}
	d, p, err := f.newDraft(in, n)
	if errors.Is(err, backing.ErrNotFound) {
		// It was pending and its draft has ended. The kernel looks the name up
		// once more, and makes the file if that is asked for.
		f.tree.detach(n)
		return fuse.Status(syscall.ESTALE)
	}
	if err != nil {
		return f.status("open", p.full, err)
	}
	if d == nil {
		return fuse.Status(syscall.ESTALE)
	}
	dir, name, _ := f.tree.where(n)
	if taken := f.takeOver(n, dir, name, d, in.Pid); taken != nil {
		*out = f.hold(taken)
		return fuse.OK
	}
	to := &node{dir: dir, name: name, place: p, info: n.describe()}
	f.begin(d, to, in.Pid)
	f.tree.unnamed(to)
	f.send(in, &diversion{slot: slot{dir.id, name}, from: n, to: to})
	return fuse.Status(syscall.ESTALE)
}

// newDraft begins the draft that the open asks for; none where the name no
// longer leads to an Object.
func (f *FS) newDraft(in *fuse.OpenIn, n *node) (room.Draft, place, error) {
	_, _, p := f.tree.where(n)
	w, _, err := p.room.Write(f.ctx, caller(&in.InHeader), p.path(), room.Create{Flags: int(in.Flags) & (syscall.O_ACCMODE | syscall.O_APPEND)})
	if err != nil {
		return nil, p, err
	}
	d, ok := w.(room.Draft)
	if !ok {
		f.closed(w, "file")
		return nil, p, nil
	}
	if in.Flags&syscall.O_TRUNC != 0 {
		if err := d.Truncate(0); err != nil {
			f.closed(d, "draft")
			return nil, p, err
		}
	}
	return d, p, nil
}

// takeOver makes n, which nobody has open, the node of d. The kernel forgets
// that the name leads to it, and the next LOOKUP finds the committed version
// under another node.
func (f *FS) takeOver(n, dir *node, name string, d room.Draft, thread uint32) *draft {
	n.mu.Lock()
	if n.opens > 0 || n.draft != nil {
		n.mu.Unlock()
		return nil
	}
	taken := f.beginLocked(d, n, thread)
	n.mu.Unlock()
	f.notify.forgetNode(dir, name, n)
	return taken
}

// openTaken opens the node of a draft. The thread was sent there, or is
// underway to a version that has been taken over meanwhile and must look
// again, or it came by /proc/PID/fd and means this very draft.
func (f *FS) openTaken(in *fuse.OpenIn, n *node, v *diversion, out *fuse.OpenOut) fuse.Status {
	switch {
	case v != nil && v.to == n && n.isDraft() != nil:
		*out = f.hold(n.isDraft())
		return fuse.OK
	case v != nil && v.from == n && !v.looked:
		return f.openShared(in, n, out)
	}
	v = &diversion{from: n}
	dir, name, p := f.tree.where(n)
	v.slot = slot{dir.id, name}
	if writes(in.Flags) {
		d, _, err := f.newDraft(in, n)
		if err != nil && !errors.Is(err, backing.ErrNotFound) { // its LOOKUP finds out
			return f.status("open", p.full, err)
		}
		if err == nil && d != nil {
			v.to = &node{dir: dir, name: name, place: p, info: n.describe()}
			f.begin(d, v.to, in.Pid)
			f.tree.unnamed(v.to)
		}
	}
	f.send(in, v)
	return fuse.Status(syscall.ESTALE)
}

// openShared gives a second handle of a draft that is still open; of one that
// is not, what its name leads to now.
func (f *FS) openShared(in *fuse.OpenIn, n *node, out *fuse.OpenOut) fuse.Status {
	if d := n.isDraft(); d != nil && d.share() {
		out.Fh, out.OpenFlags = f.handles.add(draftHandle{d}), fuse.FOPEN_DIRECT_IO
		return fuse.OK
	}
	if writes(in.Flags) {
		return fuse.Status(syscall.ESTALE)
	}
	_, _, p := f.tree.where(n)
	content, err := p.room.Read(f.ctx, p.path(), "")
	if err != nil {
		return f.status("open", p.full, err)
	}
	out.Fh = f.handles.add(&fixedFile{content})
	out.OpenFlags = fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH
	return fuse.OK
}

// send remembers what the thread is to find.
func (f *FS) send(in *fuse.OpenIn, v *diversion) {
	v.at = time.Now()
	for _, old := range f.divert.put(in.Pid, v) {
		f.giveUp(old)
	}
}

// diverted is what a LOOKUP finds by reason of an earlier OPEN of its thread:
// nil for what everybody finds.
func (f *FS) diverted(h *fuse.InHeader, dir *node, name string) *node {
	v := f.divert.find(h.Pid, slot{dir.id, name})
	if v == nil || v.to == nil {
		return nil
	}
	f.tree.again(v.to)
	return v.to
}

// pinned reports whether n, which a LOOKUP found, is safe until the thread has
// opened it, if it was sent back to look for it: from being taken over, and from
// being replaced with no copy kept. A second ESTALE would reach the program.
func (f *FS) pinned(h *fuse.InHeader, dir *node, name string, n *node) bool {
	v := f.divert.find(h.Pid, slot{dir.id, name})
	if v == nil || v.to != nil || v.pin == n {
		return true
	}
	n.mu.Lock()
	free := n.draft == nil
	object := n.info.Kind == room.Object
	if free {
		n.opens++
	}
	n.mu.Unlock()
	if !free {
		return false
	}
	_, _, p := f.tree.where(n)
	if object && errors.Is(f.version(f.ctx, n, p), backing.ErrNotFound) {
		f.closeCommitted(n)
		return false
	}
	v.pin, n = n, v.pin
	if n != nil {
		f.closeCommitted(n)
	}
	return true
}

// giveUp ends what was made for a thread, when it has come or will not come.
func (f *FS) giveUp(v *diversion) {
	if v == nil {
		return
	}
	if v.to != nil {
		f.abandon(v.to)
		f.tree.forget(v.to.id, 1) // what unnamed counted
	}
	if v.pin != nil {
		f.closeCommitted(v.pin)
	}
}

func (t *diversions) put(thread uint32, v *diversion) (expired []*diversion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byThread == nil {
		t.byThread = map[uint32]*diversion{}
	}
	for other, old := range t.byThread {
		if other == thread || time.Since(old.at) > patience {
			expired = append(expired, old)
			delete(t.byThread, other)
		}
	}
	t.byThread[thread] = v
	return expired
}

func (t *diversions) find(thread uint32, s slot) *diversion {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.byThread[thread]; v != nil && v.slot == s {
		v.looked = true
		return v
	}
	return nil
}

// take ends the thread's diversion: it has come to its next OPEN.
func (t *diversions) take(thread uint32) *diversion {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.byThread[thread]
	delete(t.byThread, thread)
	return v
}

// drafting reports whether a draft of the name is open.
func (t *diversions) drafting(dir *node, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drafts[slot{dir.id, name}] > 0
}

// count notes that a draft of the name was opened, by 1, or closed, by -1.
func (t *diversions) count(dir *node, name string, by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drafts == nil {
		t.drafts = map[slot]int{}
	}
	s := slot{dir.id, name}
	if t.drafts[s] += by; t.drafts[s] == 0 {
		delete(t.drafts, s)
	}
}
