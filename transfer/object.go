package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
)

// object makes the destination's object what s is.
func (p *pass) object(ctx context.Context, s backing.Meta, d *backing.Meta) error {
	p.looking(s.Key)
	if d != nil && s.Size == d.Size && s.ModTime.Equal(d.ModTime) {
		same, err := p.sameObject(ctx, s, *d)
		if err != nil || same {
			if same {
				p.there()
				_, err = p.dress(ctx, s, *d)
			}
			return err
		}
	}
	return p.copyObject(ctx, s, d)
}

func (p *pass) there() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.There++
}

// sameObject compares the bytes of two objects of one size and time, but for
// the first pass.
func (p *pass) sameObject(ctx context.Context, s, d backing.Meta) (bool, error) {
	if p.first {
		return true, nil
	}
	from, err := p.src.Open(ctx, s.Key, s.Revision)
	if errors.Is(err, backing.ErrNotFound) {
		return false, nil // replaced since it was listed
	}
	if err != nil {
		return false, err
	}
	to, err := p.dst.Open(ctx, d.Key, d.Revision)
	if err != nil {
		return false, errors.Join(p.disturbed(err), from.Close())
	}
	same, err := p.sameBytes(ctx, from, to)
	if err != nil {
		err = fmt.Errorf("compare %s: %w", s.Key, err)
	}
	return same, errors.Join(err, from.Close(), to.Close())
}

// disturbed says whose fault it is that the destination is not what it was a
// moment ago.
func (p *pass) disturbed(err error) error {
	if errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrConflict) || errors.Is(err, backing.ErrExists) {
		return fmt.Errorf("somebody else writes the destination: %w", err)
	}
	return err
}

// blockSize is how much of two contents is compared at once, in bytes.
const blockSize = 256 << 10

func (p *pass) sameBytes(ctx context.Context, a, b backing.Content) (bool, error) {
	if a.Size() != b.Size() {
		return false, nil
	}
	size := min(blockSize, a.Size())
	x, y := make([]byte, size), make([]byte, size)
	for off := int64(0); off < a.Size(); off += size {
		n := min(size, a.Size()-off)
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := readFull(a, x[:n], off); err != nil {
			return false, fmt.Errorf("read the source: %w", err)
		}
		if err := readFull(b, y[:n], off); err != nil {
			return false, fmt.Errorf("read the destination: %w", err)
		}
		p.read(int(n))
		if !bytes.Equal(x[:n], y[:n]) {
			return false, nil
		}
	}
	return true, nil
}

func readFull(c backing.Content, b []byte, off int64) error {
	n, err := c.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// copyObject puts s in the place of d, or where nothing is. One that is not
// any more what was listed waits for the next pass.
func (p *pass) copyObject(ctx context.Context, s backing.Meta, d *backing.Meta) error {
	c, err := p.src.Open(ctx, s.Key, s.Revision)
	if errors.Is(err, backing.ErrNotFound) {
		p.changed(nil)
		return nil
	}
	if err != nil {
		return err
	}
	o := backing.PutOptions{If: backing.Absent, Mode: s.Mode, ModTime: s.ModTime}
	if d != nil {
		o.If = d.Revision
	}
	m, err := p.dst.Put(ctx, s.Key, p.reading(c), o)
	if err = errors.Join(p.disturbed(err), c.Close()); err != nil {
		return err
	}
	if !m.ModTime.Equal(s.ModTime) {
		return fmt.Errorf("the destination cannot keep the time of %s, %s: give it another one (`touch`), or choose another file system",
			s.Key, s.ModTime.UTC().Format("2006-01-02 15:04:05.999999999"))
	}
	if _, err := p.dress(ctx, s, m); err != nil {
		return err
	}
	p.copied(&p.stats.Objects, s.Size)
	return nil
}

// dress gives d the mode and owner of s where it has others, and says so.
func (p *pass) dress(ctx context.Context, s, d backing.Meta) (did bool, err error) {
	var c backing.AttrChange
	if s.Mode.Perm() != d.Mode.Perm() {
		c.Mode = &s.Mode
	}
	if p.o.Owners && (s.UID != d.UID || s.GID != d.GID) {
		c.UID, c.GID = &s.UID, &s.GID
	}
	if c.Mode == nil && c.UID == nil {
		return false, nil
	}
	p.changed(nil)
	if _, err := p.dst.SetAttr(ctx, s.Key, c); err != nil || s.Dir {
		return true, p.disturbed(err)
	}
	return true, p.dst.Sync(ctx, s.Key)
}

// reading is the bytes of c, counted.
func (p *pass) reading(c backing.Content) io.Reader {
	return &counted{io.NewSectionReader(c, 0, c.Size()), p}
}

type counted struct {
	r io.Reader
	p *pass
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.p.read(n)
	return n, err
}
