package room

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"ctxfs/backing"
)

// BufferMemory is how much of a draft lies in memory, in bytes; one that
// grows longer moves to the store's place for uploads.
const BufferMemory = 1 << 20

// Buffer is what a draft is written to: sparse, readable and writable at any
// position, in memory up to [BufferMemory] bytes and then in a
// [backing.Upload]. What was never written reads as zeros. Safe for
// concurrent use.
type Buffer struct {
	store backing.Store

	mu     sync.RWMutex // guards all below, and that appends are one piece
	mem    []byte       // the content while up is nil
	up     backing.Upload
	closed bool
}

// NewBuffer returns an empty buffer that spills to store.
func NewBuffer(store backing.Store) *Buffer { return &Buffer{store: store} }

// Size is the length in bytes.
func (b *Buffer) Size() int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.size()
}

func (b *Buffer) size() int64 {
	if b.up != nil {
		return b.up.Size()
	}
	return int64(len(b.mem))
}

// ReadAt is that of [io.ReaderAt].
func (b *Buffer) ReadAt(p []byte, off int64) (int, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	switch {
	case b.closed:
		return 0, fs.ErrClosed
	case off < 0:
		return 0, fs.ErrInvalid
	case b.up != nil:
		return b.up.ReadAt(p, off)
	case off >= int64(len(b.mem)):
		return 0, io.EOF
	}
	n := copy(p, b.mem[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt is that of [io.WriterAt]; a gap before off reads as zeros.
func (b *Buffer) WriteAt(p []byte, off int64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writeAt(p, off)
}

// Append writes p at the end, in one piece that no other write interleaves.
func (b *Buffer) Append(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writeAt(p, b.size())
}

func (b *Buffer) writeAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if off < 0 || end < off {
		return 0, fs.ErrInvalid
	}
	if b.closed {
		return 0, fs.ErrClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	if b.up == nil && end > BufferMemory {
		if err := b.spill(); err != nil {
			return 0, err
		}
	}
	if b.up != nil {
		return b.up.WriteAt(p, off)
	}
	b.grow(int(end))
	return copy(b.mem[off:end], p), nil
}

// grow makes mem at least n bytes long.
func (b *Buffer) grow(n int) {
	if n <= len(b.mem) {
		return
	}
	b.mem = append(b.mem, make([]byte, n-len(b.mem))...)
}

// Truncate makes the buffer size bytes long; what it gains reads as zeros.
func (b *Buffer) Truncate(size int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return fs.ErrClosed
	case size < 0:
		return fs.ErrInvalid
	}
	if b.up == nil && size > BufferMemory {
		if err := b.spill(); err != nil {
			return err
		}
	}
	if b.up != nil {
		return b.up.Truncate(size)
	}
	if int(size) <= len(b.mem) {
		b.mem = b.mem[:size:size]
		return nil
	}
	b.grow(int(size))
	return nil
}

// spill moves the content to an upload.
func (b *Buffer) spill() error {
	up, err := b.store.NewUpload(context.Background())
	if err != nil {
		return fmt.Errorf("begin an upload for a long draft: %w", err)
	}
	if _, err := up.WriteAt(b.mem, 0); err != nil && len(b.mem) > 0 {
		return errors.Join(fmt.Errorf("move a draft out of memory: %w", err), up.Close())
	}
	b.up, b.mem = up, nil
	return nil
}

// Bytes returns a copy of the content.
func (b *Buffer) Bytes() ([]byte, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return nil, fs.ErrClosed
	}
	if b.up == nil {
		return append([]byte(nil), b.mem...), nil
	}
	p := make([]byte, b.up.Size())
	if _, err := io.ReadFull(io.NewSectionReader(b.up, 0, int64(len(p))), p); err != nil {
		return nil, fmt.Errorf("read a draft back: %w", err)
	}
	return p, nil
}

// Reader reads the content as it is now in length; what is written meanwhile
// may be seen.
func (b *Buffer) Reader() io.Reader { return io.NewSectionReader(b, 0, b.Size()) }

// Upload hands the content over as an upload, for a put that need not copy
// it, moving it out of memory first. The buffer is empty afterwards and the
// upload is the caller's to put or to close.
func (b *Buffer) Upload() (backing.Upload, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fs.ErrClosed
	}
	if b.up == nil {
		if err := b.spill(); err != nil {
			return nil, err
		}
	}
	up := b.up
	b.up, b.mem = nil, nil
	return up, nil
}

// Close drops the content. Closing twice is no error.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.mem = nil
	if b.up == nil {
		return nil
	}
	up := b.up
	b.up = nil
	return up.Close()
}
