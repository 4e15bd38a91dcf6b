package entries

import (
	"context"

	"ctxfs/backing"
)

// SetAttr implements [room.Draft]. A later write gives the draft its own time
// again, as it does with any file.
func (d *draft) SetAttr(ctx context.Context, a backing.AttrChange) error {
	a = permOnly(a)
	// What is set during a commit belongs to the object that it makes.
	d.commit.Lock()
	defer d.commit.Unlock()
	d.mu.Lock()
	if d.gen != d.saved {
		d.attr = later(d.attr, a)
		d.mu.Unlock()
		return nil
	}
	by := d.by
	d.mu.Unlock()
	info, err := d.e.SetAttr(ctx, by, d.p.path, a)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened.Mode, d.opened.UID, d.opened.GID = info.Mode, info.UID, info.GID
	if a.ModTime != nil {
		d.modTime = *a.ModTime
	}
	return nil
}

// later is the change a followed by b.
func later(a, b backing.AttrChange) backing.AttrChange {
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

// settle gives m, the entry after a save, what the put could not: an owner,
// and all of it where nothing had to be put. The content is stored by then, so
// that an owner which the store may not set is no refusal.
func (e *Entries) settle(ctx context.Context, a backing.AttrChange, m backing.Meta, put bool) backing.Meta {
	if put {
		a.ModTime = nil
		if a.Mode != nil && *a.Mode != 0 {
			a.Mode = nil
		}
	}
	if a == (backing.AttrChange{}) {
		return m
	}
	settled, err := e.store.SetAttr(ctx, m.Key, a)
	if err != nil {
		e.o.Log.Warn("an entry does not get the owner, mode or time that its writer set", "path", m.Key, "err", err)
		return m
	}
	return settled
}
