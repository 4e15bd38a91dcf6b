package entries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// load fills the buffer with what the draft began from, d.mu held. An open
// that truncates or never touches the content so costs no reading.
func (d *draft) load() error {
	if d.loaded {
		return nil
	}
	ctx := context.Background()
	c, err := d.e.store.Open(ctx, d.p.key(), d.begun)
	if errors.Is(err, backing.ErrNotFound) {
		// That revision was kept nowhere (an edit from outside): nobody has
		// seen it through this draft, so begin with the current one.
		var m backing.Meta
		if m, err = d.e.store.Stat(ctx, d.p.key()); err == nil {
			c, err = d.e.store.Open(ctx, d.p.key(), m.Revision)
			d.begun = m.Revision
		}
	}
	if err != nil {
		return fmt.Errorf("read %s for a draft: %w", d.p.path, err)
	}
	defer c.Close()
	chunk := make([]byte, min(c.Size(), room.BufferMemory))
	for off := int64(0); off < c.Size(); {
		n, err := c.ReadAt(chunk, off)
		if _, werr := d.buf.WriteAt(chunk[:n], off); werr != nil {
			return fmt.Errorf("copy %s into a draft: %w", d.p.path, werr)
		}
		if off += int64(n); err != nil && (!errors.Is(err, io.EOF) || n == 0) {
			return fmt.Errorf("read %s for a draft: %w", d.p.path, err)
		}
	}
	d.loaded = true
	return nil
}

// ReadAt implements [io.ReaderAt] on the draft's own content.
func (d *draft) ReadAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	err := d.load()
	d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return d.buf.ReadAt(p, off)
}

// WriteAt implements [io.WriterAt]. What it refuses is in the draft all the
// same, so that the .rej shows all that was written.
func (d *draft) WriteAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.write(p, off)
}

// Append implements [room.Draft].
func (d *draft) Append(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.write(p, d.size())
}

func (d *draft) write(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > MaxSize {
		d.stick(d.tooLong())
		return 0, d.stuck
	}
	if err := d.load(); err != nil {
		d.stick(err)
		return 0, err
	}
	if _, err := d.buf.WriteAt(p, off); err != nil {
		d.stick(err)
		return 0, fmt.Errorf("write to the draft of %s: %w", d.p.path, err)
	}
	d.touch()
	if err := d.checkPrefix(p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// touch notes a change of the content.
func (d *draft) touch() {
	d.gen++
	d.modTime, d.attr.ModTime = d.e.now(), nil
}

// stick remembers the first failure after which the draft lacks something.
func (d *draft) stick(err error) {
	d.gen++
	if d.stuck == nil {
		d.stuck = err
	}
}

func (d *draft) tooLong() error {
	return &codec.Refusal{Errno: syscall.EFBIG, Path: d.p.path,
		Reason: fmt.Sprintf("an entry has at most %d MiB", MaxSize>>20),
		Fix:    "keep the data in a file beside the entry, without .md, and mention it in the body"}
}

// Truncate implements [room.File].
func (d *draft) Truncate(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > MaxSize {
		d.stick(d.tooLong())
		return d.stuck
	}
	if size == 0 {
		return d.clear()
	}
	if err := d.load(); err != nil {
		d.stick(err)
		return err
	}
	if size == d.buf.Size() {
		return nil
	}
	if err := d.buf.Truncate(size); err != nil {
		d.stick(err)
		return fmt.Errorf("cut the draft of %s: %w", d.p.path, err)
	}
	d.touch()
	if size < d.prefix.end {
		d.prefix = prefix{}
	}
	return nil
}

// clear empties the draft.
func (d *draft) clear() error {
	was := d.size()
	if err := d.buf.Truncate(0); err != nil {
		d.stick(err)
		return fmt.Errorf("empty the draft of %s: %w", d.p.path, err)
	}
	d.loaded, d.stuck, d.prefix = true, nil, prefix{on: true}
	if was > 0 {
		d.touch()
	}
	return nil
}
