package variables

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
	"ctxfs/room"
)

// Writer is a large value on its way. Nothing is seen of it before Commit. It
// needs at most a room.Buffer's memory. Not for concurrent use.
type Writer struct {
	v   *Variables
	val value
	buf *room.Buffer
	end int64
}

// Create begins a value for key, as Set does without the content.
func (v *Variables) Create(key string, o SetOptions) (*Writer, error) {
	val, err := v.settle(key, o)
	if err != nil {
		return nil, err
	}
	return &Writer{v: v, val: val, buf: room.NewBuffer(v.store)}, nil
}

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.buf.WriteAt(p, w.end)
	w.end += int64(n)
	if err != nil {
		err = fmt.Errorf("write %s: %w", w.val.name.path(), err)
	}
	return n, err
}

// Commit makes what was written the value, with the errors of Set, and ends
// the writer.
func (w *Writer) Commit(ctx context.Context) (Ref, error) {
	var err error
	if w.val.content, err = contentOf(w.buf); err != nil {
		return Ref{}, fmt.Errorf("write %s: %w", w.val.name.path(), errors.Join(err, w.buf.Close()))
	}
	ref, err := w.v.set(ctx, w.val)
	return ref, errors.Join(err, w.buf.Close())
}

// Close drops what was not committed. After Commit it does nothing.
func (w *Writer) Close() error { return w.buf.Close() }

// contentOf takes the content out of b.
func contentOf(b *room.Buffer) (source, error) {
	if b.Size() <= room.BufferMemory {
		data, err := b.Bytes()
		return source{data: data}, err
	}
	up, err := b.Upload()
	return source{up: up}, err
}

// fill copies c to the beginning of b.
func fill(b *room.Buffer, c backing.Content) error {
	_, err := io.Copy(io.NewOffsetWriter(b, 0), io.NewSectionReader(c, 0, c.Size()))
	return err
}
