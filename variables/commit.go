package variables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// Commit implements [room.Draft]. A writer whose write meets another one's
// commit gets into the new content or into the next commit, whole.
func (d *draft) Commit(ctx context.Context) error {
	d.commit.Lock()
	defer d.commit.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gen == d.saved {
		return nil
	}
	if d.stuck != nil {
		return fmt.Errorf("an earlier write failed: %w", d.stuck)
	}
	n, err := d.settle(ctx)
	if err == nil {
		d.v.removeRejects(ctx, n)
	}
	return err
}

// settle publishes the draft under the lock of its name.
func (d *draft) settle(ctx context.Context) (name, error) {
	n, unlock, gone := d.lock()
	defer unlock()
	if gone {
		d.saved = d.gen
		return n, nil
	}
	if err := d.load(); err != nil {
		return n, err
	}
	s, err := d.publish(ctx, n)
	if err != nil {
		return n, err
	}
	d.v.drafts.committed(n)
	d.saved = d.gen
	volatile := d.opened.Volatile
	d.opened, d.other = s.info(false), nil
	d.opened.Volatile = volatile
	d.setTime, d.typ, d.mode, d.persist = s.modTime, "", 0, false
	return n, nil
}

// lock takes the stripe of the draft's name, which a rename may change until
// it is taken.
func (d *draft) lock() (n name, unlock func(), gone bool) {
	for {
		n, _ = d.v.drafts.where(d)
		unlock = d.v.lock(n)
		now, gone := d.v.drafts.where(d)
		if now == n {
			return n, unlock, gone
		}
		unlock()
	}
}

// publish puts the content. A long one is handed to the store as it is, and
// read from there afterwards.
func (d *draft) publish(ctx context.Context, n name) (state, error) {
	val := value{name: n, typ: d.typ, persist: d.persist, mode: d.mode, modTime: d.setTime, by: d.by}
	val.checked = d.scan != nil && d.scanned == d.buf.Size() && d.scanned > 0
	if val.checked && d.scan.copy().end() != nil {
		val.checked = false // put says what is wrong
	}
	if d.buf.Size() <= room.BufferMemory {
		data, err := d.buf.Bytes()
		if err != nil {
			return state{}, err
		}
		val.content = source{data: data}
		return d.v.put(ctx, val)
	}
	if val.checked = val.checked || d.willBe(n) != JSON; !val.checked {
		if err := jsonRefusal(n, checkJSON(d.buf.Reader())); err != nil {
			return state{}, err
		}
		val.checked = true
	}
	up, err := d.buf.Upload()
	if err != nil {
		return state{}, err
	}
	val.content = source{up: up}
	s, err := d.v.put(ctx, val)
	if err != nil {
		return s, errors.Join(err, d.takeBack(up))
	}
	d.loaded, d.scan = false, nil
	if err := up.Close(); err != nil {
		d.v.o.Log.Warn("an upload stays until the next start", "path", n.path(), "err", err)
	}
	return s, nil
}

// takeBack makes the content of an upload that could not be put the draft's
// again.
func (d *draft) takeBack(up backing.Upload) error {
	_, err := io.Copy(io.NewOffsetWriter(d.buf, 0), io.NewSectionReader(up, 0, up.Size()))
	if err != nil {
		err = fmt.Errorf("take the draft of %s back: %w", d.origin().path(), err)
		d.stick(err)
	}
	return errors.Join(err, up.Close())
}

// SetAttr implements [room.Draft].
func (d *draft) SetAttr(ctx context.Context, a backing.AttrChange) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.Mode != nil {
		d.mode = *a.Mode & fs.ModePerm
		d.opened.Mode = d.mode
	}
	if a.UID != nil {
		d.opened.UID, d.by.UID = *a.UID, *a.UID
	}
	if a.GID != nil {
		d.opened.GID, d.by.GID = *a.GID, *a.GID
	}
	if a.ModTime != nil {
		d.setTime = *a.ModTime
	}
	n, gone := d.v.drafts.where(d)
	if d.gen != d.saved && d.saved == 0 || gone {
		return nil
	}
	unlock := d.v.lock(n)
	s, err := d.v.setAttr(ctx, n, a)
	unlock()
	if errors.Is(err, backing.ErrNotFound) {
		return nil // it is being written for the first time
	}
	if err == nil && d.gen == d.saved {
		d.opened.Revision, d.opened.ModTime = s.rev, s.modTime
	}
	return err
}

// Refuse implements [room.Draft]: the draft goes to the .rej beside the
// variable, the reason to the journal, once for each reason.
func (d *draft) Refuse(ctx context.Context, err error) {
	if err == nil {
		return
	}
	d.commit.Lock()
	defer d.commit.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.v.drafts.where(d)
	r := refusalOf(err, n)
	if !d.told[r] {
		d.told[r] = true
		d.v.journal(r, d.by)
	}
	var because *codec.Refusal
	if !errors.As(err, &because) || d.kept == d.gen+1 || !d.loaded {
		// A full disk takes no second copy either: the writer was told,
		// and the old value stays.
		return
	}
	if err := d.v.keepReject(ctx, n, &r, d.buf, d.by, d.opened.Mode); err != nil {
		d.v.o.Log.Error("a refused draft is not kept", "path", n.path(), "err", err)
		return
	}
	d.kept = d.gen + 1
}
