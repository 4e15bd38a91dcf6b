package variables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
	"ctxfs/room"
)

// source is content on its way into the store: bytes that nobody changes any
// more, or an upload.
type source struct {
	data []byte
	up   backing.Upload // nil for data
}

func (s source) size() int64 {
	if s.up != nil {
		return s.up.Size()
	}
	return int64(len(s.data))
}

// reader reads the content from its beginning.
func (s source) reader() io.Reader {
	if s.up != nil {
		return io.NewSectionReader(s.up, 0, s.up.Size())
	}
	return bytes.NewReader(s.data)
}

// give is what a put gets: the upload itself, that it need not be copied.
func (s source) give() io.Reader {
	if r, ok := s.up.(io.Reader); ok && s.up != nil {
		return r
	}
	return s.reader()
}

func (s source) close() error {
	if s.up == nil {
		return nil
	}
	return s.up.Close()
}

// read takes content from r, in memory as far as a room.Buffer is.
func (v *Variables) read(ctx context.Context, r io.Reader) (source, error) {
	head, err := io.ReadAll(io.LimitReader(r, room.BufferMemory))
	if err != nil || len(head) < room.BufferMemory {
		return source{data: head}, err
	}
	up, err := v.store.NewUpload(ctx)
	if err != nil {
		return source{}, fmt.Errorf("begin an upload: %w", err)
	}
	s := source{up: up}
	if _, err := up.WriteAt(head, 0); err != nil {
		return s, errors.Join(err, up.Close())
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.NewOffsetWriter(up, int64(len(head)))}, cancelled{ctx, r}, head)
	if err != nil {
		return s, errors.Join(err, up.Close())
	}
	return s, nil
}

// copyOf is read of the whole of c.
func (v *Variables) copyOf(ctx context.Context, c backing.Content) (source, error) {
	return v.read(ctx, io.NewSectionReader(c, 0, c.Size()))
}

// cancelled ends a copy with its context.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// putFile puts content at n, durably. A put whose end nobody knows is tried
// once more as the same operation.
func (v *Variables) putFile(ctx context.Context, n name, s source, o backing.PutOptions) (backing.Meta, error) {
	o.Op = v.next()
	m, err := v.store.Put(ctx, n.file(), s.give(), o)
	if errors.Is(err, backing.ErrNotFound) && ctx.Err() == nil {
		if err := v.makeScope(ctx, n.scope); err != nil {
			return m, err
		}
		m, err = v.store.Put(ctx, n.file(), s.give(), o)
	}
	if errors.Is(err, backing.ErrUnknown) && ctx.Err() == nil {
		m, err = v.store.Put(ctx, n.file(), s.reader(), o)
	}
	if err != nil {
		return m, fmt.Errorf("write variable %s: %w", n.path(), err)
	}
	return m, nil
}
