package results

import (
	"context"
	"fmt"
)

// ReadAt implements [io.ReaderAt] on the draft's own content.
func (d *draft) ReadAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	err := d.load(context.Background())
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
		return 0, d.stick(tooLong(d.name))
	}
	if err := d.load(context.Background()); err != nil {
		return 0, d.stick(err)
	}
	if _, err := d.buf.WriteAt(p, off); err != nil {
		return 0, d.stick(fmt.Errorf("write to the draft of %s: %w", path(d.name), err))
	}
	if off == d.prefix {
		d.prefix += int64(len(p))
	} else {
		d.prefix = -1
	}
	d.touch()
	if err := d.early(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// touch notes a change of the content.
func (d *draft) touch() {
	d.gen++
	d.at, d.attr.ModTime = d.r.o.Now(), nil
}

// stick remembers the first failure after which the draft lacks something.
func (d *draft) stick(err error) error {
	d.gen++
	if d.stuck == nil {
		d.stuck = err
	}
	return err
}

// Truncate implements [room.File].
func (d *draft) Truncate(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > MaxSize {
		return d.stick(tooLong(d.name))
	}
	was := d.size()
	if size == 0 {
		d.loaded, d.stuck = true, nil // it begins anew
	}
	if err := d.load(context.Background()); err != nil {
		return d.stick(err)
	}
	if err := d.buf.Truncate(size); err != nil {
		return d.stick(fmt.Errorf("cut the draft of %s: %w", path(d.name), err))
	}
	switch {
	case size == 0:
		d.prefix = 0
	case size != was:
		d.prefix = -1
	}
	if size != was {
		d.touch()
	}
	return nil
}
