package invocations

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// backStep is how much of the file is read at a time, in bytes, from its end
// to its beginning.
const backStep = 64 << 10

// backwards reads the lines of a file from the last to the first. It needs
// memory for the longest line, and never for more than MaxLine and a bit;
// longer lines, which only another program can have written, are left out.
type backwards struct {
	r     io.ReaderAt
	start int64  // of buf in the file
	buf   []byte // what was read and not returned yet
	begun bool   // what stands behind the last line end was dropped
	long  bool   // buf is within a line that is too long
}

func newBackwards(r io.ReaderAt, size int64) *backwards { return &backwards{r: r, start: size} }

// previous returns the line before the one that was returned last, without
// its end, and io.EOF before the first. A line without an end, the last of
// the file, is one that is being written: it is left out. The line stays
// valid.
func (b *backwards) previous() ([]byte, error) {
	for {
		i := bytes.LastIndexByte(b.buf, '\n')
		if i < 0 && b.start > 0 {
			if err := b.extend(); err != nil {
				return nil, err
			}
			continue
		}
		if i < 0 && b.buf == nil {
			return nil, io.EOF
		}
		line := b.buf[i+1:]
		if i < 0 {
			b.buf = nil
		} else {
			b.buf = b.buf[:i]
		}
		drop := !b.begun || b.long || len(line) == 0
		b.begun, b.long = true, false
		if !drop {
			return line, nil
		}
	}
}

// extend reads what stands before buf, which has no line end: as much again,
// so that a long line is not searched over and over.
func (b *backwards) extend() error {
	if len(b.buf) > MaxLine {
		b.buf, b.long = nil, true
	}
	n := min(max(backStep, int64(len(b.buf))), b.start)
	buf := make([]byte, n, n+int64(len(b.buf)))
	if got, err := b.r.ReadAt(buf, b.start-n); int64(got) < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // another program has cut the file
		}
		return fmt.Errorf("read %s: %w", file, err)
	}
	b.buf = append(buf, b.buf...)
	b.start -= n
	return nil
}
