package localdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// MakeDir makes a directory, durably.
func (s *Store) MakeDir(ctx context.Context, key backing.Key, mode fs.FileMode) (backing.Meta, error) {
	if err := s.beginWrite(key); err != nil {
		return backing.Meta{}, told("make directory", key, err)
	}
	defer s.end()
	st, err := s.makeDir(key, mode)
	if err != nil {
		return backing.Meta{}, told("make directory", key, err)
	}
	return st.meta(key), nil
}

func (s *Store) makeDir(key backing.Key, mode fs.FileMode) (*stat, error) {
	parent, err := s.parent(key)
	if err != nil {
		return nil, err
	}
	defer unix.Close(parent)
	// With its mode at once, as far as the umask lets it: a crash must not
	// leave it closed to others.
	if err := unix.Mkdirat(parent, key.Name(), uint32(mode.Perm()|0o700)); err != nil {
		return nil, err
	}
	st, err := s.finishDir(parent, key.Name(), mode)
	if err != nil {
		// Taken back, as well as it can: it was not made.
		_ = unix.Unlinkat(parent, key.Name(), unix.AT_REMOVEDIR)
		return nil, err
	}
	return st, nil
}

// finishDir gives the new directory name in parent its mode, and syncs both.
func (s *Store) finishDir(parent int, name string, mode fs.FileMode) (*stat, error) {
	fd, err := openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	// What the umask has taken.
	if err := unix.Fchmod(fd, uint32(mode.Perm())); err != nil {
		return nil, err
	}
	if err := errors.Join(s.fsync(fd), s.fsync(parent)); err != nil {
		return nil, err
	}
	return statFD(fd)
}

// RemoveDir removes an empty directory, durably.
func (s *Store) RemoveDir(ctx context.Context, key backing.Key) error {
	if err := s.beginWrite(key); err != nil {
		return told("remove directory", key, err)
	}
	defer s.end()
	parent, err := s.tree.dir(key.Dir())
	if err != nil {
		return told("remove directory", key, err)
	}
	defer unix.Close(parent)
	if err := unix.Unlinkat(parent, key.Name(), unix.AT_REMOVEDIR); err != nil {
		return told("remove directory", key, err)
	}
	return told("remove directory", key, uncertain(s.fsync(parent)))
}

// parent opens the directory that holds key. Below backing.Own directories
// are made when they are first needed.
func (s *Store) parent(key backing.Key) (int, error) {
	dir := key.Dir()
	fd, err := s.tree.dir(dir)
	if err != unix.ENOENT || !dir.Under(backing.Own) || dir == "" {
		return fd, err
	}
	made, err := s.makePath(dir)
	if err != nil {
		return -1, err
	}
	fd = made[len(made)-1]
	var errs error
	for _, d := range made[:len(made)-1] {
		errs = errors.Join(errs, s.fsync(d), unix.Close(d))
	}
	if errs != nil {
		unix.Close(fd)
		return -1, errs
	}
	return fd, nil
}

// makePath makes the directory key and what is missing above it. It returns
// descriptors of each directory in which something was made, and last that
// of key: the caller syncs and closes them.
func (s *Store) makePath(key backing.Key) (fds []int, err error) {
	fd, err := s.tree.dir(key)
	if err == nil {
		return []int{fd}, nil
	}
	if err != unix.ENOENT || key == "" {
		return nil, err
	}
	above, err := s.makePath(key.Dir())
	if err != nil {
		return nil, err
	}
	err = unix.Mkdirat(above[len(above)-1], key.Name(), 0o700)
	if err == nil || err == unix.EEXIST { // another put makes it just now
		fd, err = openat(above[len(above)-1], key.Name(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		closeAll(above)
		return nil, err
	}
	return append(above, fd), nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// makeOwnDir makes one of the store's own directories, durably.
func (s *Store) makeOwnDir(key backing.Key) error {
	fds, err := s.makePath(key)
	if err != nil {
		return err
	}
	defer closeAll(fds)
	for _, fd := range fds[:len(fds)-1] {
		if err := s.fsync(fd); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) syncDir(key backing.Key) error {
	fd, err := s.tree.dir(key)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return s.fsync(fd)
}

// makeTop makes dir with its parents, durably.
func makeTop(dir string) error {
	_, err := os.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(filepath.Clean(dir))
	if err := makeTop(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	fd, err := openat(unix.AT_FDCWD, above, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("sync %s: %w", above, err)
	}
	defer unix.Close(fd)
	if err := fsync(fd); err != nil {
		return fmt.Errorf("sync %s: %w", above, err)
	}
	return nil
}
