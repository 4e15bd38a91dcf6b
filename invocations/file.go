package invocations

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Matches reports whether the filter lets e through; Limit is not looked at.
func (f Filter) Matches(e Entry) bool { return f.matches(&e) }

// Begin returns where, in the file r of size bytes, the oldest of those
// entries begins that f wants: the newest f.Limit that match. It is size where
// there is none. It reads from the end, in constant memory, for programs that
// have the file and not the [History].
func Begin(r io.ReaderAt, size int64, f Filter) (int64, error) {
	if f.Limit < 0 {
		return 0, nil
	}
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	begin := size
	lines := newBackwards(r, size)
	for found := 0; found < f.Limit; {
		line, err := lines.previous()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if e, _, err := parse(line); err == nil && f.matches(&e) {
			begin = lines.position()
			found++
		}
	}
	return begin, nil
}

// position is where the line begins that was returned last.
func (b *backwards) position() int64 {
	if b.buf == nil {
		return b.start
	}
	return b.start + int64(len(b.buf)) + 1
}

// Entries yields the entries of a file, the oldest first, in constant memory;
// an error is the last that it yields. Lines that are no invocation, and one
// at the end that is being written, are left out.
func Entries(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lines := bufio.NewReaderSize(r, backStep)
		for {
			line, err := wholeLine(lines)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("read %s: %w", file, err))
				return
			}
			e, _, bad := parse(line)
			if bad != nil {
				continue
			}
			e.Line = line
			if !yield(e, nil) {
				return
			}
		}
	}
}

// wholeLine returns the next line without its end; one that is too long for
// an invocation is cut, and no invocation then. io.EOF after the last.
func wholeLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		if room := MaxLine + 2 - len(line); len(piece) > room {
			line = append(line, piece[:room]...)
		} else {
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return line[:len(line)-1], nil
	}
}
