package invocations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// handle is the history opened as a file: it is read as it grows, and written
// only at its end, line by line. It implements [backing.File].
type handle struct {
	backing.File // opened for reading only: no call but ours can change the file
	h            *History
	by           room.Caller
	writing      bool
	appending    bool // O_APPEND: the kernel moves every write to the end

	mu      sync.Mutex // guards the rest; taken before h.mu
	waiting []byte     // a line that has no end yet
	next    int64      // where a writer without O_APPEND goes on
	end     int64      // of the file after the last line of this handle
	refused []byte     // what was last refused, not to be kept twice
	closed  bool
}

// WriteAt implements [io.WriterAt]. Lines that are whole are checked and
// appended in one piece, all or, where one is refused, none; a line without
// an end waits for it. Where the handle was opened with O_APPEND off means
// nothing, as for pwrite(2): the kernel takes it from a size that may be old.
// Otherwise it must be the end of the file, or where the last write of this
// handle ended if nobody has appended since; EPERM.
func (f *handle) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(p, off, f.appending)
}

// Append writes p at the end, wherever that is now.
func (f *handle) Append(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(p, 0, true)
}

func (f *handle) write(p []byte, off int64, anywhere bool) (int, error) {
	switch {
	case f.closed:
		return 0, os.ErrClosed
	case !f.writing:
		return 0, syscall.EBADF
	case len(p) == 0:
		return 0, nil
	}
	mark := len(f.waiting)
	text := append(f.waiting, p...)
	f.waiting = text[:mark]
	cut := 0
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		cut = mark + i + 1
	}
	lines, err := f.h.completeAll(text[:cut])
	if err == nil && len(text)-cut > MaxLine {
		_, _, err = parse(text[cut:])
	}
	if err != nil {
		f.waiting = nil
		f.refuse(err, text)
		return 0, err
	}
	if err := f.add(lines, off, anywhere); err != nil {
		return 0, err
	}
	if f.waiting = text; cut > 0 {
		f.waiting = append([]byte(nil), text[cut:]...)
	}
	f.next = off + int64(len(p))
	return len(p), nil
}

// add appends lines, which may be none, if off is where this handle may write.
func (f *handle) add(lines []byte, off int64, anywhere bool) error {
	ctx := context.Background()
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	if !anywhere {
		m, err := f.h.store.Stat(ctx, fileKey)
		if err != nil {
			return fmt.Errorf("write to %s: %w", file, err)
		}
		goesOn := off == f.next && f.end == m.Size
		if !goesOn && (off != m.Size || len(f.waiting) > 0) {
			r := denied("the history is written only at its end", "append: echo '{...}' >> "+file)
			f.h.journal(*r, f.by)
			return r
		}
		f.end = m.Size
	}
	if len(lines) == 0 {
		return nil
	}
	err := f.h.addLocked(ctx, lines)
	f.end = f.h.end
	return err
}

// refuse notes why text was refused, and keeps it.
func (f *handle) refuse(err error, text []byte) {
	var r *codec.Refusal
	if !errors.As(err, &r) {
		return
	}
	f.h.journal(*r, f.by)
	if bytes.Equal(text, f.refused) {
		return // a program tries again what it could not write
	}
	f.refused = append([]byte(nil), text[:min(len(text), MaxReject)]...)
	f.h.keepReject(context.Background(), r, text)
}

// Flush appends a line that only lacks its end. One that is no invocation yet
// goes on waiting, as the close of one descriptor need not be the last.
func (f *handle) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	line, err := f.h.completeAll(f.waiting)
	if err != nil || len(line) == 0 {
		return nil
	}
	if err := f.h.add(context.Background(), line); err != nil {
		return err
	}
	f.settle()
	return nil
}

// settle forgets the line that was waiting.
func (f *handle) settle() {
	f.waiting = nil
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	f.end = f.h.end
}

// Sync makes durable what was appended, by whomever. A line that waits for
// its end and lacks nothing else is appended first.
func (f *handle) Sync() error {
	return errors.Join(f.Flush(), f.h.Sync(context.Background()))
}

// Truncate refuses with EPERM to change the length.
func (f *handle) Truncate(size int64) error {
	m, err := f.Stat()
	if err != nil || f.writing && size == m.Size {
		return err
	}
	r := denied("the history is never shortened", "append to it; for a new one, copy the file and end the mount before it is removed from the store")
	f.h.journal(*r, f.by)
	return r
}

// Close ends the handle. A line that was waiting is appended if it is an
// invocation, otherwise it is refused, and kept.
func (f *handle) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	f.closed = true
	line, err := f.h.completeAll(f.waiting)
	switch {
	case err != nil:
		f.refuse(err, f.waiting)
	case len(line) > 0:
		err = f.h.add(context.Background(), line)
	}
	f.waiting = nil
	return errors.Join(err, f.File.Close())
}

// completeAll checks lines, of which the last may lack its end, and fills in
// what they leave out. Empty lines are left out.
func (h *History) completeAll(text []byte) ([]byte, error) {
	var done []byte
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		whole, err := complete(line, h.o.Now, h.o.NewID)
		if err != nil {
			var r *codec.Refusal
			if errors.As(err, &r) {
				numbered := *r
				numbered.Line = n
				err = &numbered
			}
			return nil, err
		}
		done = append(append(done, whole...), '\n')
	}
	return done, nil
}

func denied(reason, fix string) *codec.Refusal {
	return &codec.Refusal{Errno: syscall.EPERM, Path: file, Reason: reason, Fix: fix}
}
