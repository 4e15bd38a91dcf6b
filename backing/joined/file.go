package joined

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"ctxfs/backing"
)

// conflictTries bounds how often a change in place is made again because
// another one came first.
const conflictTries = 64

// file is an object of the shared store as an open file. Between two calls
// other hosts may change it. Safe for concurrent use.
type file struct {
	store  backing.Store
	key    backing.Key
	flags  int
	closed atomic.Bool
}

// nothing is an empty content.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

func (f *file) told(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, f.key, err)
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if f.closed.Load() {
		return 0, os.ErrClosed
	}
	c, err := f.store.Open(context.Background(), f.key, "")
	if err != nil {
		return 0, f.told("read", err)
	}
	n, err := c.ReadAt(p, off)
	if cerr := c.Close(); cerr != nil {
		err = cerr
	}
	return n, err // io.EOF as it is
}

// WriteAt appends where off is the end, or the file was opened with O_APPEND.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if err := f.writable(); err != nil {
		return 0, f.told("write", err)
	}
	ctx := context.Background()
	appends := f.flags&os.O_APPEND != 0
	if !appends {
		m, err := f.store.Stat(ctx, f.key)
		if err != nil {
			return 0, f.told("write", err)
		}
		appends = off == m.Size
	}
	var err error
	if appends {
		_, err = f.store.Append(ctx, f.key, p)
	} else {
		err = f.change(ctx, func(c backing.Content) io.Reader {
			end := off + int64(len(p))
			return io.MultiReader(head(c, off), bytes.NewReader(p), io.NewSectionReader(c, end, max(0, c.Size()-end)))
		})
	}
	if err != nil {
		return 0, f.told("write", err)
	}
	return len(p), nil
}

// Truncate implements [backing.File].
func (f *file) Truncate(size int64) error {
	err := f.writable()
	if err == nil {
		err = f.change(context.Background(), func(c backing.Content) io.Reader { return head(c, size) })
	}
	return f.told("truncate", err)
}

func (f *file) writable() error {
	switch {
	case f.closed.Load():
		return os.ErrClosed
	case f.flags&(os.O_WRONLY|os.O_RDWR) == 0:
		return syscall.EBADF
	}
	return nil
}

// change puts what next makes of the newest content.
func (f *file) change(ctx context.Context, next func(backing.Content) io.Reader) error {
	for range conflictTries {
		m, err := f.store.Stat(ctx, f.key)
		if err != nil {
			return err
		}
		c, err := f.store.Open(ctx, f.key, m.Revision)
		if errors.Is(err, backing.ErrNotFound) {
			continue // replaced between the two looks
		}
		if err != nil {
			return err
		}
		_, err = f.store.Put(ctx, f.key, next(c), backing.PutOptions{If: m.Revision})
		if err = errors.Join(err, c.Close()); !errors.Is(err, backing.ErrConflict) {
			return err
		}
	}
	return backing.ErrConflict
}

// head is the first size bytes of c, with zeros where it is shorter.
func head(c backing.Content, size int64) io.Reader {
	gap := max(0, size-c.Size())
	return io.MultiReader(io.NewSectionReader(c, 0, size-gap), io.LimitReader(zeros{}, gap))
}

// zeros is read for what was never written.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Sync implements [backing.File].
func (f *file) Sync() error {
	if f.closed.Load() {
		return os.ErrClosed
	}
	return f.told("sync", f.store.Sync(context.Background(), f.key))
}

// Stat implements [backing.File].
func (f *file) Stat() (backing.Meta, error) {
	if f.closed.Load() {
		return backing.Meta{}, os.ErrClosed
	}
	return f.store.Stat(context.Background(), f.key)
}

// Fd implements [backing.File]: no descriptor, upon which system calls answer
// EBADF.
func (f *file) Fd() uintptr { return backing.NoDescriptor }

// Close implements [io.Closer].
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return os.ErrClosed
	}
	return nil
}
