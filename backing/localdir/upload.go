package localdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// upload is an unnamed file in the staging directory. Put gives it a name
// there and renames that over the key: the bytes are never read.
//
// It is also an io.Reader, as Put takes one, for stores that it is foreign to.
type upload struct {
	handle   // its mu is held for writing while a put has the upload
	s        *Store
	name     string // in the staging directory, "" while unnamed
	consumed bool   // it is an object now, and not written any more
	lost     error  // of a sync that failed: the kernel may have dropped what was written
	readMu   sync.Mutex
	read     int64 // how far Read has come; guarded by readMu, which is taken before mu
}

// NewUpload returns an empty upload. Read from it as it is, after its Put too,
// until Close; writing to it after a Put that succeeded is os.ErrClosed.
func (s *Store) NewUpload(ctx context.Context) (backing.Upload, error) {
	if s.readOnly {
		return nil, told("new upload below", "", backing.ErrReadOnly)
	}
	if err := s.begin(""); err != nil {
		return nil, told("new upload below", "", err)
	}
	defer s.end()
	u := &upload{s: s}
	fd, err := s.tree.open(stagingDir, unix.O_RDWR|unix.O_TMPFILE, 0o600)
	if err == unix.ENOENT {
		if err := s.makeOwnDir(stagingDir); err != nil {
			return nil, told("new upload below", "", err)
		}
		fd, err = s.tree.open(stagingDir, unix.O_RDWR|unix.O_TMPFILE, 0o600)
	}
	if err == unix.EOPNOTSUPP || err == unix.EISDIR { // a file system without unnamed files
		var st *staged
		if st, err = s.newStaged(); err == nil {
			fd, u.name = st.fd, st.name
		}
	}
	if err != nil {
		return nil, told("new upload below", "", err)
	}
	u.fd = fd
	return u, nil
}

func (u *upload) writable(f func(fd int) error) error {
	return u.with(func(fd int) error {
		if u.consumed {
			return os.ErrClosed
		}
		if u.lost != nil {
			return u.lost
		}
		return f(fd)
	})
}

// ReadAt fails where nobody can say any more what was written.
func (u *upload) ReadAt(p []byte, off int64) (n int, err error) {
	err = u.with(func(fd int) error {
		if u.lost != nil {
			return u.lost
		}
		n, err = preadFull(fd, p, off)
		return err
	})
	return n, err
}

func (u *upload) WriteAt(p []byte, off int64) (n int, err error) {
	err = u.writable(func(fd int) error {
		n, err = pwriteFull(fd, p, off)
		return err
	})
	return n, err
}

func (u *upload) Truncate(size int64) error {
	return u.writable(func(fd int) error { return ftruncate(fd, size) })
}

// Size is 0 after Close.
func (u *upload) Size() int64 {
	var size int64
	// fstat(2) on an open file does not fail; a closed upload is empty.
	_ = u.with(func(fd int) error {
		st, err := statFD(fd)
		if err == nil {
			size = int64(st.Size)
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

// stage takes the upload, until the staged file is dropped or published.
func (u *upload) stage(ctx context.Context) (st *staged, err error) {
	u.mu.Lock()
	defer func() {
		if err != nil {
			u.mu.Unlock()
		}
	}()
	if u.fd < 0 || u.consumed {
		return nil, fmt.Errorf("stage upload: %w", os.ErrClosed)
	}
	if u.lost != nil { // the next sync would say that all is well
		return nil, fmt.Errorf("stage upload: %w", u.lost)
	}
	if u.name == "" {
		err = u.link(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("stage upload: %w", err)
	}
	return &staged{s: u.s, fd: u.fd, name: u.name, from: u}, nil
}

// link names the upload. Where that cannot be done, its bytes are copied to a
// file that can, and that is the upload from then on.
func (u *upload) link(ctx context.Context) error {
	dir, err := u.s.tree.dir(stagingDir)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	name := stagingName()
	if err := unix.Linkat(unix.AT_FDCWD, procPath(u.fd), dir, name, unix.AT_SYMLINK_FOLLOW); err == nil {
		u.name = name
		return nil
	}
	st, err := u.s.newStaged()
	if err != nil {
		return err
	}
	all := io.NewSectionReader(fdReader(u.fd), 0, 1<<62)
	if err := copyTo(ctx, st.fd, all); err != nil {
		return errors.Join(err, st.drop())
	}
	unix.Close(u.fd)
	u.fd, u.name = st.fd, st.name
	return nil
}

type fdReader int

func (r fdReader) ReadAt(p []byte, off int64) (int, error) { return preadFull(int(r), p, off) }

// consume is called with mu held.
func (u *upload) consume() {
	u.consumed, u.name = true, ""
}

func (u *upload) Close() error {
	u.mu.Lock()
	name := u.name
	u.name = ""
	u.mu.Unlock()
	err := u.handle.Close()
	if name == "" || u.s.begin("") != nil { // the next Open removes what Close left
		return err
	}
	defer u.s.end()
	return errors.Join(err, u.s.unlinkStaged(name))
}

func procPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
