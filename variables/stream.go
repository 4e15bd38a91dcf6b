package variables

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"ctxfs/backing"
	"ctxfs/room"
)

// Append adds p at the end of a stream, in one piece that no other append
// interleaves, and visible to readers at once. A missing variable becomes a
// stream; one of another type gets a new value. It is on disk after Sync.
func (v *Variables) Append(ctx context.Context, key string, p []byte, o SetOptions) (Ref, error) {
	if o.Type == "" {
		o.Type = Stream
	}
	val, err := v.settle(key, o)
	if err != nil {
		return Ref{}, err
	}
	n := val.name
	unlock := v.lock(n)
	defer unlock()
	s, err := v.committed(ctx, n)
	if errors.Is(err, backing.ErrNotFound) {
		s, err = v.create(ctx, val)
	}
	if err != nil {
		return Ref{}, err
	}
	if s.typ != Stream {
		s, err = v.appendCopy(ctx, s, p)
		return s.ref(), err
	}
	if _, err := v.store.Append(ctx, v.streamFile(s), p); err != nil {
		return Ref{}, fmt.Errorf("append to %s: %w", n.path(), err)
	}
	v.known.forget(n)
	if s, err = v.committed(ctx, n); err != nil {
		return Ref{}, err
	}
	v.watchers.Changed(n.path(), false)
	return s.ref(), nil
}

// Sync makes every Append to the stream that returned before durable. Session
// variables need none.
func (v *Variables) Sync(ctx context.Context, scope Scope, key string) error {
	n, err := parseName(scope, key)
	if err != nil {
		return err
	}
	s, err := v.committed(ctx, n)
	if err != nil || s.cell != nil {
		return err
	}
	return v.store.Sync(ctx, n.file())
}

// streamFile is where a stream's content is.
func (v *Variables) streamFile(s state) backing.Key {
	if s.cell != nil {
		return v.memory.where(s.cell)
	}
	return s.name.file()
}

// appendCopy gives a variable that is no stream a longer value.
func (v *Variables) appendCopy(ctx context.Context, s state, p []byte) (state, error) {
	c, err := v.open(ctx, s.name, s.rev)
	if err != nil {
		return state{}, err
	}
	defer c.Close()
	val := value{name: s.name, content: source{}}
	b := room.NewBuffer(v.store)
	defer b.Close()
	if err := fill(b, c); err != nil {
		return state{}, fmt.Errorf("append to %s: %w", s.name.path(), err)
	}
	if _, err := b.Append(p); err != nil {
		return state{}, fmt.Errorf("append to %s: %w", s.name.path(), err)
	}
	if val.content, err = contentOf(b); err != nil {
		return state{}, fmt.Errorf("append to %s: %w", s.name.path(), err)
	}
	s, err = v.put(ctx, val)
	return s, errors.Join(err, val.content.close())
}

// streamHandle is an open stream, read and written in place. With O_APPEND
// every write goes to the end, wherever it was meant for: in one piece, as
// write(2) promises.
type streamHandle struct {
	backing.File
	v       *Variables
	name    name
	durable bool
	wrote   atomic.Bool
}

// openStream opens the stream s with the flags of open(2).
func (v *Variables) openStream(ctx context.Context, s state, flags int) (room.File, error) {
	if flags&os.O_TRUNC != 0 && s.size > 0 {
		// What refs name ends here.
		if err := v.renew(ctx, s); err != nil {
			return nil, err
		}
	}
	f, err := v.files.OpenFile(ctx, v.streamFile(s), flags&^(os.O_CREATE|os.O_EXCL), s.mode)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", s.name.path(), err)
	}
	return &streamHandle{File: f, v: v, name: s.name, durable: s.cell == nil}, nil
}

// renew gives a stream that is cut a new identity.
func (v *Variables) renew(ctx context.Context, s state) error {
	if s.cell != nil {
		v.memory.identify(s.cell, valueID(s.name, v.next()))
		return nil
	}
	defer v.known.forget(s.name)
	return v.labels.set(ctx, s.name, label{Type: Stream, Stream: v.next(), Created: v.o.Now()}, "")
}

// identify gives the content of c another id.
func (m *memory) identify(c *cell, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.id = id
}

func (h *streamHandle) WriteAt(p []byte, off int64) (int, error) {
	h.wrote.Store(true)
	n, err := h.File.WriteAt(p, off)
	h.v.known.forget(h.name)
	return n, err
}

func (h *streamHandle) Truncate(size int64) error {
	m, err := h.Stat()
	if err != nil {
		return err
	}
	if size < m.Size {
		s, err := h.v.committed(context.Background(), h.name)
		if err == nil && s.typ == Stream {
			err = h.v.renew(context.Background(), s)
		}
		if err != nil && !errors.Is(err, backing.ErrNotFound) {
			return err
		}
	}
	h.wrote.Store(true)
	defer h.v.known.forget(h.name)
	return h.File.Truncate(size)
}

// Close makes what was written durable.
func (h *streamHandle) Close() error {
	var err error
	if h.durable && h.wrote.Load() {
		err = h.Sync()
	}
	return errors.Join(err, h.File.Close())
}
