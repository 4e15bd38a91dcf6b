package localdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Append adds data at the end of the object at key in one write(2); where the
// disk takes only a part of it, that part is taken back.
func (s *Store) Append(ctx context.Context, key backing.Key, data []byte) (backing.Meta, error) {
	if err := s.beginWrite(key); err != nil {
		return backing.Meta{}, told("append to", key, err)
	}
	defer s.end()
	if err := ctx.Err(); err != nil {
		return backing.Meta{}, told("append to", key, err)
	}
	defer s.keys.lock(key)()
	st, err := s.append(key, data)
	if err != nil {
		return backing.Meta{}, told("append to", key, err)
	}
	return st.meta(key), nil
}

func (s *Store) append(key backing.Key, data []byte) (*stat, error) {
	fd, st, created, err := s.openAppend(key)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := write(fd, data)
	if err == nil && n < len(data) {
		err = fmt.Errorf("%w: only %d of %d bytes were taken", unix.ENOSPC, n, len(data))
	}
	if err != nil {
		if n > 0 {
			err = errors.Join(err, ftruncate(fd, int64(st.Size)))
		}
		if created {
			err = errors.Join(err, s.unlink(key))
		}
		return nil, err
	}
	return statFD(fd)
}

// openAppend opens key for appending and makes it where it is missing.
func (s *Store) openAppend(key backing.Key) (fd int, st *stat, created bool, err error) {
	const flags = unix.O_WRONLY | unix.O_APPEND
	fd, st, err = s.tree.file(key, flags)
	if err != unix.ENOENT {
		return fd, st, false, err
	}
	dir, err := s.parent(key)
	if err != nil {
		return -1, nil, false, err
	}
	defer unix.Close(dir)
	fd, err = openat(dir, key.Name(), flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err == unix.EEXIST { // another program was faster
		fd, st, err = s.tree.file(key, flags)
		return fd, st, false, err
	}
	if err != nil {
		return -1, nil, false, err
	}
	s.appends.replaced(key)
	st, err = statFD(fd)
	if err == nil {
		err = unix.Fchmod(fd, 0o644)
	}
	if err != nil {
		unix.Close(fd)
		return -1, nil, false, err
	}
	return fd, st, true, nil
}

func write(fd int, data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	for {
		n, err := unix.Write(fd, data)
		if err == nil && n == 0 {
			return 0, io.ErrShortWrite
		}
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// Sync makes the appends to key durable, and its name. After it failed once
// it fails until the object is replaced: what was appended may be lost, and
// the kernel would not say so again.
func (s *Store) Sync(ctx context.Context, key backing.Key) error {
	if err := s.beginWrite(key); err != nil {
		return told("sync", key, err)
	}
	defer s.end()
	return told("sync", key, s.syncObject(key))
}

func (s *Store) syncObject(key backing.Key) error {
	fd, st, err := s.tree.file(key, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	named, failed := s.appends.state(key, st.Ino)
	if failed != nil {
		return failed
	}
	err = s.fsync(fd)
	if err == nil && !named {
		err = s.syncDir(key.Dir())
	}
	s.appends.synced(key, st.Ino, err)
	return err
}

const maxAppends = 4096

// appends remembers which objects' names are known to be on disk, so that
// their directories need not be synced with every append, and which objects
// failed to sync.
type appends struct {
	mu     sync.Mutex // guards what follows
	named  map[backing.Key]uint64
	failed map[backing.Key]syncFailure
}

type syncFailure struct {
	ino uint64
	err error
}

func (a *appends) state(key backing.Key, ino uint64) (named bool, failed error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f, ok := a.failed[key]; ok && f.ino == ino {
		return false, fmt.Errorf("an earlier sync failed, appends may be lost: %w", f.err)
	}
	return a.named[key] == ino, nil
}

func (a *appends) synced(key backing.Key, ino uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if a.failed == nil {
			a.failed = make(map[backing.Key]syncFailure)
		}
		a.failed[key] = syncFailure{ino, err}
		return
	}
	if a.named == nil || len(a.named) >= maxAppends {
		a.named = make(map[backing.Key]uint64)
	}
	a.named[key] = ino
}

// replaced forgets key, because it is or will be another file.
func (a *appends) replaced(key backing.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.named, key)
	delete(a.failed, key)
}
