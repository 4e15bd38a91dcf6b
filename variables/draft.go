package variables

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// draft is one writer's next value of a variable. It implements [room.Draft].
type draft struct {
	v *Variables

	name name // guarded by drafts.mu, for a rename takes it along
	gone bool // the variable was removed; guarded by drafts.mu

	commit sync.Mutex // serialises Commit and Refuse; taken before all others

	mu      sync.Mutex // guards the rest, and that a write and its check are one step
	by      room.Caller
	named   bool
	opened  room.Info       // what the variable was at the open, or after the last commit
	other   *name           // whose value the draft began with; nil is its own variable's
	from    backing.Content // that value, opened when it is first read
	buf     *room.Buffer
	loaded  bool // buf holds the content; until then it is the value it began with
	gen     uint64
	saved   uint64      // gen of the last commit
	typ     Type        // said by the writer
	mode    fs.FileMode // said by the writer; 0 keeps the variable's
	persist bool
	json    bool       // worth looking at while it is written
	scan    *jsonCheck // what was written from 0 without a gap; nil when that is not known
	scanned int64
	// stuck is why this content is not the writer's: a write that failed.
	// Cutting the draft to 0 begins anew.
	stuck   error
	modTime time.Time // of the last write
	setTime time.Time // said by the writer after it
	told    map[codec.Refusal]bool
	kept    uint64 // gen+1 of the content that is kept as refused
}

// newDraft opens a draft of n: empty, or with the value of base, which s
// describes.
func (v *Variables) newDraft(n, base name, s state, c room.Caller, empty bool) *draft {
	d := &draft{v: v, name: n, by: c, opened: s.info(false), buf: room.NewBuffer(v.store), json: s.typ == JSON,
		loaded: empty || s.pending, modTime: s.modTime, told: map[codec.Refusal]bool{}}
	d.opened.Name = n.key
	if base != n {
		d.other = &base
		d.gen = 1
	}
	if s.pending {
		d.mode = s.mode
	}
	if d.loaded {
		d.rescan()
		d.opened.Size = 0
		if s.size > 0 || s.pending {
			d.gen = 1 // cut short, or made: that alone is worth a commit
		}
	}
	v.drafts.add(d)
	return d
}

// rescan begins to read json as it is written from 0.
func (d *draft) rescan() {
	if d.scan, d.scanned = nil, 0; d.json {
		d.scan = newJSONCheck()
	}
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
	if d.loaded {
		return d.buf.Size()
	}
	return d.opened.Size
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
	info.Size = d.size()
	if d.gen != d.saved {
		info.ModTime = d.modTime
	}
	if !d.setTime.IsZero() {
		info.ModTime = d.setTime
	}
	return info
}

// origin is the variable whose value the draft began with.
func (d *draft) origin() name {
	if d.other != nil {
		return *d.other
	}
	n, _ := d.v.drafts.where(d)
	return n
}

// old opens what the draft began with; d.mu is held.
func (d *draft) old() (backing.Content, error) {
	if d.from != nil {
		return d.from, nil
	}
	ctx := context.Background()
	n := d.origin()
	c, err := d.v.open(ctx, n, d.opened.Revision)
	if errors.Is(err, backing.ErrNotFound) {
		// Replaced since, and nobody has seen the old one through this
		// draft: begin with the current one.
		c, err = d.v.open(ctx, n, "")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s for a draft: %w", n.path(), err)
	}
	d.from, d.opened.Size = c, c.Size()
	return c, nil
}

// load fills the buffer with what the draft began with; d.mu is held.
func (d *draft) load() error {
	if d.loaded {
		return nil
	}
	c, err := d.old()
	if err != nil {
		return err
	}
	if err := fill(d.buf, c); err != nil {
		return fmt.Errorf("copy %s into a draft: %w", d.origin().path(), err)
	}
	d.loaded = true
	return d.letGo()
}

// letGo closes what the draft began with.
func (d *draft) letGo() error {
	c := d.from
	d.from = nil
	if c == nil {
		return nil
	}
	return c.Close()
}

// ReadAt implements [io.ReaderAt] on the draft's own content.
func (d *draft) ReadAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded {
		return d.buf.ReadAt(p, off)
	}
	c, err := d.old()
	if err != nil {
		return 0, err
	}
	return c.ReadAt(p, off)
}

// Sync implements [room.File]: it commits.
func (d *draft) Sync() error { return d.Commit(context.Background()) }

// Close implements [io.Closer]: it drops what was never committed.
func (d *draft) Close() error {
	d.commit.Lock()
	defer d.commit.Unlock()
	if n, vanished := d.v.drafts.remove(d); vanished {
		d.v.watchers.Changed(n.path(), false)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.buf.Close(), d.letGo())
}
