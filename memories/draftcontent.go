package memories

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
)

// load fills the buffer with what the draft began from. d.mu is held.
func (d *draft) load() error {
	if d.loaded {
		return nil
	}
	c, err := d.s.Read(context.Background(), d.p.path, d.opened.Revision)
	if errors.Is(err, backing.ErrNotFound) {
		c, err = d.s.Read(context.Background(), d.p.path, "") // replaced since, and nobody has seen the old one here
	}
	if err != nil {
		return fmt.Errorf("read %s for a draft: %w", d.p.path, err)
	}
	defer c.Close()
	_, err = io.Copy(io.NewOffsetWriter(d.buf, 0), io.NewSectionReader(c, 0, c.Size()))
	if err != nil {
		return fmt.Errorf("copy %s into a draft: %w", d.p.path, err)
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

// WriteAt implements [io.WriterAt].
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
	if err := d.s.checkSize(d.p.memory, off+int64(len(p))); err != nil {
		return 0, d.stick(err)
	}
	if err := d.load(); err != nil {
		return 0, d.stick(err)
	}
	n, err := d.buf.WriteAt(p, off)
	if err != nil {
		return 0, d.stick(fmt.Errorf("write to the draft of %s: %w", d.p.path, err))
	}
	d.touch()
	return n, nil
}

// stick remembers the first failure after which the draft lacks something.
func (d *draft) stick(err error) error {
	d.changes++
	if d.stuck == nil {
		d.stuck = err
	}
	return err
}

func (d *draft) touch() {
	d.changes++
	d.modTime, d.attr.ModTime = d.s.o.Now(), nil
}

// Truncate implements [room.File]. Cutting to 0 begins anew.
func (d *draft) Truncate(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.s.checkSize(d.p.memory, size); err != nil {
		return d.stick(err)
	}
	was := d.size()
	if size == 0 {
		d.loaded, d.stuck = true, nil
	}
	if err := d.load(); err != nil {
		return d.stick(err)
	}
	if err := d.buf.Truncate(size); err != nil {
		return d.stick(fmt.Errorf("cut the draft of %s: %w", d.p.path, err))
	}
	if size != was {
		d.touch()
	}
	return nil
}
