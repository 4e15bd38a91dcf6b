package memories

import (
	"context"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

// draft is one writer's next context document. It implements [room.Draft].
type draft struct {
	s   *Memories
	p   place
	buf *room.Buffer

	commit sync.Mutex // serialises Commit, Refuse and SetAttr; taken before mu

	mu      sync.Mutex // guards the rest
	by      room.Caller
	named   bool
	loaded  bool      // buf holds the content; until then it is that of opened
	opened  room.Info // what the document was at the open, or after the last commit
	exists  bool      // as a document; a new one is made by the first commit
	changes uint64    // counts changes of the content
	saved   uint64    // changes at the last commit
	modTime time.Time
	attr    backing.AttrChange // what the writer set since the last commit
	stuck   error              // a write that failed: what follows it is not the writer's content
	told    map[string]bool    // refusals that were noted
}

func (s *Memories) openDraft(p place, c room.Caller, info room.Info, exists bool, o room.Create) (room.File, room.Info, error) {
	if s.store.ReadOnly() {
		return nil, info, backing.ErrReadOnly
	}
	d := &draft{s: s, p: p, buf: room.NewBuffer(s.store), by: c, opened: info, exists: exists,
		loaded: !exists, modTime: info.ModTime, told: map[string]bool{}}
	if !exists {
		d.opened = room.Info{Name: contextFile, Kind: room.Object, Mode: o.Mode.Perm(), UID: c.UID, GID: c.GID}
		d.modTime = s.o.Now()
		mode := o.Mode.Perm()
		d.attr.Mode = &mode
		if c.PID != 0 {
			d.attr.UID, d.attr.GID = &c.UID, &c.GID
		}
		d.changes++ // the empty document of touch(1)
	}
	return d, d.opened, nil
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
	return d.changes != d.saved
}

// Info implements [room.Draft].
func (d *draft) Info() room.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	info := d.opened
	info.Size, info.ModTime = d.size(), d.modTime
	return dressed(info, d.attr)
}

// Commit implements [room.Draft]: put_context. It returns when the content is
// queued.
func (d *draft) Commit(ctx context.Context) error {
	d.commit.Lock()
	defer d.commit.Unlock()
	d.mu.Lock()
	if d.changes == d.saved {
		d.mu.Unlock()
		return nil
	}
	err := d.stuck
	if err == nil {
		err = d.load()
	}
	var content []byte
	if err == nil {
		content, err = d.buf.Bytes()
	}
	at, attr := d.changes, d.attr
	d.mu.Unlock()
	if err != nil {
		return err
	}
	t, err := d.s.put(ctx, d.p.memory, string(content), attr)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.opened = t.describe(d.opened)
	d.saved, d.exists, d.attr = at, true, backing.AttrChange{}
	if d.changes == at {
		d.modTime = d.opened.ModTime
	}
	d.mu.Unlock()
	d.s.removeReject(ctx, d.p)
	return nil
}

// Sync implements [room.File]: put_context, and AwaitConsistency.
func (d *draft) Sync() error {
	if err := d.Commit(context.Background()); err != nil {
		return err
	}
	return d.s.AwaitConsistency(context.Background(), d.p.memory)
}

// SetAttr implements [room.Draft].
func (d *draft) SetAttr(ctx context.Context, a backing.AttrChange) error {
	if a.Mode != nil {
		perm := a.Mode.Perm()
		a.Mode = &perm
	}
	d.commit.Lock()
	defer d.commit.Unlock()
	d.mu.Lock()
	if d.changes != d.saved || !d.exists {
		d.attr = merged(d.attr, a)
		d.mu.Unlock()
		return nil
	}
	by := d.by
	d.mu.Unlock()
	info, err := d.s.SetAttr(ctx, by, d.p.path, a)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.opened, d.modTime = info, info.ModTime
	d.mu.Unlock()
	return nil
}

func merged(a, b backing.AttrChange) backing.AttrChange {
	if b.Mode != nil {
		a.Mode = b.Mode
	}
	if b.ModTime != nil {
		a.ModTime = b.ModTime
	}
	if b.UID != nil {
		a.UID = b.UID
	}
	if b.GID != nil {
		a.GID = b.GID
	}
	return a
}

// Close implements [io.Closer]: it drops what was never committed.
func (d *draft) Close() error { return d.buf.Close() }
