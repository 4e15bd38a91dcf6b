package entries

import (
	"context"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// draft is one writer's next content of one entry. It implements
// [room.Draft].
type draft struct {
	e     *Entries
	p     place
	buf   *room.Buffer
	empty bool // began empty: pending, or the new version of a dance
	made  bool // its open made the pending entry, or a refused draft that did has ended; guarded by e.mu

	commit sync.Mutex // serialises Commit, Refuse, SetAttr and Close; taken before all others

	mu     sync.Mutex // guards the rest, and that a write and its check are one step
	opened room.Info  // what the entry was at the open
	by     room.Caller
	named  bool
	loaded bool // buf holds the content; until then it is that of begun
	begun  backing.Revision
	mine   *published // what this draft committed last
	gen    uint64     // counts changes of the content
	saved  uint64     // gen of the last commit
	prefix prefix
	// stuck is why no commit of this content can be right: a write that
	// failed, so that what follows it is not the writer's content. Cutting
	// the draft to 0 begins anew.
	stuck   error
	lost    error              // a commit that nobody can say the end of; for good
	modTime time.Time          // of the last write
	attr    backing.AttrChange // what the writer set since the last commit
	told    map[codec.Refusal]bool
	kept    uint64 // gen+1 of the content in the .rej
}

// newDraft opens a draft on what info describes, empty or with its content.
func (e *Entries) newDraft(p place, c room.Caller, info room.Info, empty bool) *draft {
	d := &draft{e: e, p: p, buf: room.NewBuffer(e.store), opened: info, by: c,
		empty: empty, loaded: empty, begun: info.Revision, modTime: info.ModTime,
		prefix: prefix{on: empty}, told: map[codec.Refusal]bool{}}
	if isPendingRevision(info.Revision) {
		d.begun = backing.Absent
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.drafts[p.path] == nil {
		e.drafts[p.path] = map[*draft]bool{}
	}
	e.drafts[p.path][d] = true
	return d
}

// By implements [room.Draft].
func (d *draft) By(c room.Caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.named {
		d.by, d.named = c, true
	}
}

// Size implements [room.Draft].
func (d *draft) Size() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size()
}

func (d *draft) size() int64 {
	if !d.loaded {
		return d.opened.Size
	}
	return d.buf.Size()
}

// Changed implements [room.Draft].
func (d *draft) Changed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gen != d.saved
}

// Info implements [room.Draft].
func (d *draft) Info() room.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	info := d.opened
	info.Size, info.ModTime = d.size(), d.modTime
	if d.attr.Mode != nil {
		info.Mode = *d.attr.Mode
	}
	if d.attr.ModTime != nil {
		info.ModTime = *d.attr.ModTime
	}
	if d.attr.UID != nil {
		info.UID = *d.attr.UID
	}
	if d.attr.GID != nil {
		info.GID = *d.attr.GID
	}
	return info
}

// Sync implements [room.File]: it commits.
func (d *draft) Sync() error { return d.Commit(context.Background()) }

// Close implements [io.Closer]: it drops what was never committed. A pending
// entry that this draft made, and filled with nothing but refused content,
// ends with it, also where a full disk had no room for the .rej.
func (d *draft) Close() error {
	d.commit.Lock()
	defer d.commit.Unlock()
	d.mu.Lock()
	refused := d.mine == nil && len(d.told) > 0
	d.mu.Unlock()
	e := d.e
	e.mu.Lock()
	delete(e.drafts[d.p.path], d)
	last := len(e.drafts[d.p.path]) == 0
	if last {
		delete(e.drafts, d.p.path)
	}
	refused = refused && d.made
	if refused {
		for other := range e.drafts[d.p.path] { // one that stays ends it
			other.made = true
			break
		}
	}
	e.mu.Unlock()
	if refused && last && e.dropPending(d.p.path) {
		e.changed(d.p.path)
	}
	return d.buf.Close()
}
