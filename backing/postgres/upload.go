package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"ctxfs/backing"
)

// upload is an unnamed file of this machine, which Put reads into the
// database.
type upload struct {
	mu       sync.RWMutex // guards what follows; held for writing while that changes
	f        *os.File     // nil when closed
	consumed bool         // it was put, and is not written any more

	readMu sync.Mutex
	read   int64 // how far Read has come; guarded by readMu
}

// NewUpload returns an empty upload. Read from it as it is, after its Put too,
// until Close; writing to it after a Put that succeeded is os.ErrClosed.
func (s *Store) NewUpload(context.Context) (backing.Upload, error) {
	if err := s.beginChange(""); err != nil {
		return nil, told("new upload below", "", err)
	}
	defer s.end()
	f, err := os.CreateTemp(s.o.TempDir, ".ctxfs-upload-")
	if err != nil {
		return nil, fmt.Errorf("new upload: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("new upload: %w", err), f.Close())
	}
	return &upload{f: f}, nil
}

// with calls g with the open file.
func (u *upload) with(writing bool, g func(*os.File) error) error {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if u.f == nil || writing && u.consumed {
		return os.ErrClosed
	}
	return g(u.f)
}

func (u *upload) ReadAt(p []byte, off int64) (n int, err error) {
	err = u.with(false, func(f *os.File) error {
		n, err = f.ReadAt(p, off)
		return err
	})
	return n, err
}

func (u *upload) WriteAt(p []byte, off int64) (n int, err error) {
	err = u.with(true, func(f *os.File) error {
		n, err = f.WriteAt(p, off)
		return err
	})
	return n, err
}

func (u *upload) Truncate(size int64) error {
	return u.with(true, func(f *os.File) error { return f.Truncate(size) })
}

// Size is 0 after Close.
func (u *upload) Size() (size int64) {
	// fstat(2) on an open file does not fail; a closed upload is empty.
	_ = u.with(false, func(f *os.File) error {
		st, err := f.Stat()
		if err == nil {
			size = st.Size()
		}
		return err
	})
	return size
}

func (u *upload) Read(p []byte) (int, error) {
	u.readMu.Lock()
	defer u.readMu.Unlock()
	n, err := u.ReadAt(p, u.read)
	u.read += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// fromStart returns a reader of all that the upload holds, for one put.
func (u *upload) fromStart() (io.Reader, error) {
	err := u.with(true, func(*os.File) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("put upload: %w", err)
	}
	return io.NewSectionReader(u, 0, 1<<62), nil
}

// consume ends the upload's changes, after its put.
func (u *upload) consume() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.consumed = true
}

func (u *upload) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.f == nil {
		return os.ErrClosed
	}
	err := u.f.Close()
	u.f = nil
	return err
}
