package entries

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
)

// Commit implements [room.Draft]. When it returns nil the entry is on disk.
// It returns a *codec.Refusal where the content cannot be an entry; an error
// that wraps EIO and stays where nobody can say whether the store has it.
func (d *draft) Commit(ctx context.Context) error { return d.CommitIf(ctx, nil) }

// CommitIf implements [room.Tentative]; sure may be nil.
func (d *draft) CommitIf(ctx context.Context, sure func() bool) error {
	d.commit.Lock()
	defer d.commit.Unlock()
	s, gen, err := d.next()
	if err != nil || s == nil {
		return err
	}
	if len(s.content) == 0 {
		err = d.checkEmpty(ctx)
	} else {
		s.sure = sure
		err = d.e.publish(ctx, *s)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.saved = gen
		if d.gen == gen {
			d.attr = backing.AttrChange{}
		}
	} else if errors.Is(err, backing.ErrUnknown) {
		d.lost = err
	}
	return err
}

// next is what a commit would save, and which state of the draft that is; nil
// where nothing has changed.
func (d *draft) next() (*save, uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost != nil {
		return nil, 0, d.lost
	}
	if d.gen == d.saved {
		return nil, 0, nil
	}
	if d.stuck != nil {
		return nil, 0, d.stuck
	}
	content, err := d.buf.Bytes()
	if err != nil {
		return nil, 0, fmt.Errorf("commit %s: %w", d.p.path, err)
	}
	s := &save{p: d.p, by: d.by, content: content, mode: d.opened.Mode, attr: d.attr,
		began: func() (backing.Revision, *published) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.begun, d.mine
		},
		note: d.note}
	s.needsPending = d.empty && d.begun == backing.Absent && d.mine == nil
	return s, d.gen, nil
}

// note remembers, under the path's lock, what a save came to.
func (d *draft) note(done published) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun = done.meta.Revision
	if done.made {
		d.mine = &done
	}
	if info, ok := d.p.info(done.meta); ok {
		info.Size = d.opened.Size
		d.opened = info
	}
}

// moved follows a change of metadata, which gave the entry another revision
// with the same content; the path's lock is held.
func (d *draft) moved(from, to backing.Revision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun == from {
		d.begun = to
	}
	if d.opened.Revision == from {
		d.opened.Revision = to
	}
	if d.mine != nil && d.mine.meta.Revision == from {
		d.mine.meta.Revision = to
	}
}

// checkEmpty says whether a draft without content may be closed: that of an
// entry which has content may not, for an entry is never deleted.
func (d *draft) checkEmpty(ctx context.Context) error {
	d.mu.Lock()
	fresh := d.empty && d.mine == nil
	d.mu.Unlock()
	if fresh {
		return nil
	}
	m, err := d.e.store.Stat(ctx, d.p.key())
	if errors.Is(err, backing.ErrNotFound) || err == nil && m.Size == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("commit %s: %w", d.p.path, err)
	}
	return &codec.Refusal{Errno: syscall.EINVAL, Path: d.p.path,
		Reason: "the entry was emptied; its content would be lost, so the old version stays",
		Fix:    "write the whole entry; to replace it by another one, write a new entry with `supersedes:`"}
}
