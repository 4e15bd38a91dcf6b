package variables

import (
	"context"
	"fmt"
	"time"
)

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
	err := d.load()
	if err == nil {
		_, err = d.buf.WriteAt(p, off)
	}
	if err != nil {
		d.stick(err)
		return 0, fmt.Errorf("write to a draft of %s: %w", d.origin().path(), err)
	}
	d.touch()
	if err := d.check(p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// check goes on reading json as it is written, so that the writer learns at
// once what can no longer become valid.
func (d *draft) check(p []byte, off int64) error {
	if d.scan == nil {
		return nil
	}
	if off != d.scanned {
		d.scan = nil
		return nil
	}
	err := d.scan.write(p)
	d.scanned += int64(len(p))
	if err == nil {
		return nil
	}
	n, _ := d.v.drafts.where(d)
	if d.willBe(n) != JSON {
		d.scan = nil
		return nil
	}
	return jsonRefusal(n, err)
}

// willBe is the type that a commit to n would give it.
func (d *draft) willBe(n name) Type {
	if d.typ != "" {
		return d.typ
	}
	s, err := d.v.committed(context.Background(), n)
	if err == nil && s.said {
		return s.typ
	}
	return typeOfKey(n.key)
}

// touch notes a change of the content.
func (d *draft) touch() {
	d.gen++
	d.modTime, d.setTime = d.v.o.Now(), time.Time{}
}

// stick remembers the first failure after which the draft lacks something.
func (d *draft) stick(err error) {
	d.gen++
	if d.stuck == nil {
		d.stuck = err
	}
}

// Truncate implements [room.File].
func (d *draft) Truncate(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.size()
	if size != 0 {
		if err := d.load(); err != nil {
			d.stick(err)
			return err
		}
	}
	if size == was && size != 0 {
		return nil
	}
	if err := d.buf.Truncate(size); err != nil {
		d.stick(err)
		return fmt.Errorf("cut a draft of %s: %w", d.origin().path(), err)
	}
	if size < d.scanned || size > was {
		d.scan = nil
	}
	if size == 0 {
		d.loaded, d.stuck = true, nil
		d.rescan()
		if err := d.letGo(); err != nil {
			return err
		}
	}
	if was != size {
		d.touch()
	}
	return nil
}
