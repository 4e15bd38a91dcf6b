package entries

import (
	"bytes"
	"fmt"

	"ctxfs/codec"
)

// prefix follows what was written from offset 0 on, as long as that is in
// order. A draft that began with old content is not followed: it may be
// invalid for a while when it is changed in place (rsync --inplace, bun).
type prefix struct {
	on     bool
	end    int64 // [0, end) was written in order
	asked  int64 // end when the codec was asked last
	asks   int
	refuse error
}

const (
	// firstBytes is the length up to which every write is checked: enough
	// for the opening fence, even after a byte order mark.
	firstBytes = 16
	// lineAsks is how often a write that ends a line is checked. Beyond it
	// only the closing fence and each doubling are, so that a writer of
	// single bytes costs no more than a few passes over its frontmatter.
	lineAsks = 128
)

// checkPrefix refuses, d.mu held, what p at off makes impossible to become an
// entry.
func (d *draft) checkPrefix(p []byte, off int64) error {
	x := &d.prefix
	if !x.on || len(p) == 0 {
		return nil
	}
	if off < x.end {
		*x = prefix{} // mended in place: the commit decides
		return nil
	}
	if x.refuse != nil {
		return x.refuse
	}
	if off > x.end {
		return nil
	}
	x.end += int64(len(p))
	due, err := d.prefixDue(p)
	if err != nil || !due {
		return err
	}
	return d.askPrefix()
}

// prefixDue reports whether p, the newest bytes, may decide something.
func (d *draft) prefixDue(p []byte) (bool, error) {
	x := &d.prefix
	if x.end <= firstBytes || x.end >= 2*x.asked || x.asks < lineAsks && bytes.IndexByte(p, '\n') >= 0 {
		return true, nil
	}
	if bytes.Contains(p, []byte("---")) || bytes.Contains(p, []byte("...")) {
		return true, nil
	}
	tail := make([]byte, min(x.end, 8))
	if _, err := d.buf.ReadAt(tail, x.end-int64(len(tail))); err != nil {
		return false, fmt.Errorf("read the draft of %s back: %w", d.p.path, err)
	}
	return bytes.Contains(tail, []byte("\n---")) || bytes.Contains(tail, []byte("\n...")), nil
}

func (d *draft) askPrefix() error {
	x := &d.prefix
	x.asked = x.end
	x.asks++
	head := make([]byte, x.end)
	if _, err := d.buf.ReadAt(head, 0); err != nil {
		return fmt.Errorf("read the draft of %s back: %w", d.p.path, err)
	}
	done, err := codec.CheckPrefix(head, d.e.known(d.p, d.by.Session))
	if err != nil {
		x.refuse = withPath(err, d.p.path)
		return x.refuse
	}
	if done {
		x.on = false
	}
	return nil
}
