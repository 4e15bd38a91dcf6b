package localdir

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// handle owns a descriptor. Unlike os.File it costs no system call to make
// and lets pwrite(2) be what it is on an O_APPEND descriptor. Close waits for
// calls that run.
type handle struct {
	mu sync.RWMutex // guards fd against Close
	fd int          // -1 when closed
}

// with runs f with the descriptor, which stays open meanwhile.
func (h *handle) with(f func(fd int) error) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.fd < 0 {
		return os.ErrClosed
	}
	return f(h.fd)
}

func (h *handle) ReadAt(p []byte, off int64) (n int, err error) {
	err = h.with(func(fd int) error {
		n, err = preadFull(fd, p, off)
		return err
	})
	return n, err
}

func (h *handle) WriteAt(p []byte, off int64) (n int, err error) {
	err = h.with(func(fd int) error {
		n, err = pwriteFull(fd, p, off)
		return err
	})
	return n, err
}

func (h *handle) Truncate(size int64) error {
	return h.with(func(fd int) error { return ftruncate(fd, size) })
}

// Fd returns the descriptor, valid until Close.
func (h *handle) Fd() uintptr {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return uintptr(h.fd)
}

func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fd < 0 {
		return os.ErrClosed
	}
	fd := h.fd
	h.fd = -1
	return unix.Close(fd)
}

func preadFull(fd int, p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) {
		n, err := unix.Pread(fd, p[done:], off+int64(done))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return done, err
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return done, nil
}

func pwriteFull(fd int, p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) {
		n, err := unix.Pwrite(fd, p[done:], off+int64(done))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return done, err
		case n == 0:
			return done, io.ErrShortWrite
		default:
			done += n
		}
	}
	return done, nil
}

func ftruncate(fd int, size int64) error {
	for {
		if err := unix.Ftruncate(fd, size); err != unix.EINTR {
			return err
		}
	}
}
