package localdir

import (
	"context"
	"fmt"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// openFlags are those of open(2) that OpenFile passes on.
const openFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_APPEND | unix.O_SYNC | unix.O_DSYNC

// OpenFile opens the regular file at key in place. Other flags than the
// access mode, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_SYNC and O_DSYNC are
// left out. The mode of a new file is exact: no umask applies.
func (s *Store) OpenFile(ctx context.Context, key backing.Key, flags int, mode fs.FileMode) (backing.File, error) {
	begin := s.beginWrite
	if flags&(unix.O_ACCMODE|unix.O_CREAT|unix.O_TRUNC) == unix.O_RDONLY {
		begin = s.begin
	}
	if err := begin(key); err != nil {
		return nil, told("open file", key, err)
	}
	defer s.end()
	f, err := s.openFile(key, flags&openFlags, mode)
	if err != nil {
		return nil, told("open file", key, err)
	}
	return f, nil
}

func (s *Store) openFile(key backing.Key, flags int, mode fs.FileMode) (*file, error) {
	for {
		if flags&unix.O_CREAT != 0 {
			f, err := s.createFile(key, flags, mode)
			if err != unix.EEXIST || flags&unix.O_EXCL != 0 {
				return f, err
			}
		}
		fd, _, err := s.tree.file(key, flags&^(unix.O_CREAT|unix.O_EXCL))
		if err == unix.ENOENT && flags&unix.O_CREAT != 0 {
			continue // removed since it existed
		}
		if err != nil {
			return nil, err
		}
		return &file{handle: handle{fd: fd}, s: s, key: key}, nil
	}
}

func (s *Store) createFile(key backing.Key, flags int, mode fs.FileMode) (*file, error) {
	dir, err := s.parent(key)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openat(dir, key.Name(), flags|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Fchmod(fd, uint32(mode.Perm())); err != nil {
		unix.Close(fd)
		return nil, err
	}
	f := &file{handle: handle{fd: fd}, s: s, key: key}
	f.unnamed.Store(true)
	return f, nil
}

// file is an open ordinary file.
type file struct {
	handle
	s       *Store
	key     backing.Key // where it was opened
	unnamed atomic.Bool // this handle made it, and its name is not known to be on disk
}

// Sync makes the content durable, and the name of a file that this handle
// made.
func (f *file) Sync() error {
	if err := f.with(f.s.fsync); err != nil {
		return told("sync", f.key, err)
	}
	if !f.unnamed.Load() || f.s.begin(f.key) != nil {
		return nil
	}
	defer f.s.end()
	err := f.s.syncDir(f.key.Dir())
	if err == unix.ENOENT || err == unix.ENOTDIR { // it was moved away with its directory
		err = nil
	}
	if err != nil {
		return told("sync the directory of", f.key, err)
	}
	f.unnamed.Store(false)
	return nil
}

func (f *file) Stat() (m backing.Meta, err error) {
	err = f.with(func(fd int) error {
		st, err := statFD(fd)
		if err == nil {
			m = st.meta(f.key)
		}
		return err
	})
	return m, told("stat", f.key, err)
}

// Rename renames a file or symbolic link; both directories are synced.
func (s *Store) Rename(ctx context.Context, from, to backing.Key, flags uint) error {
	if err := s.beginWrite(from); err != nil {
		return told("rename", from, err)
	}
	defer s.end()
	// The life's lock is held once: only the key remains to be checked.
	if err := checkWritable(to); err != nil {
		return told("rename to", to, err)
	}
	defer s.keys.lockBoth(from, to)()
	return told(fmt.Sprintf("rename to %s", to), from, s.rename(from, to, flags))
}

func (s *Store) rename(from, to backing.Key, flags uint) error {
	if flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return unix.EINVAL
	}
	src, err := s.tree.dir(from.Dir())
	if err != nil {
		return err
	}
	defer unix.Close(src)
	dst, err := s.parent(to)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	for _, end := range []struct {
		dir  int
		name string
	}{{src, from.Name()}, {dst, to.Name()}} {
		if st, err := lookAt(end.dir, end.name); err != nil {
			return err
		} else if st != nil && st.isDir() {
			return backing.ErrIsDir
		}
	}
	if err := unix.Renameat2(src, from.Name(), dst, to.Name(), flags); err != nil {
		return err
	}
	s.appends.replaced(from)
	s.appends.replaced(to)
	synced := async(func() error { return s.fsync(dst) })
	if from.Dir() != to.Dir() {
		err = s.fsync(src)
	}
	if derr := synced(); err == nil {
		err = derr
	}
	return uncertain(err)
}

// Unlink removes a file, symbolic link, fifo or device. It is not made
// durable.
func (s *Store) Unlink(ctx context.Context, key backing.Key) error {
	if err := s.beginWrite(key); err != nil {
		return told("unlink", key, err)
	}
	defer s.end()
	defer s.keys.lock(key)()
	s.appends.replaced(key)
	return told("unlink", key, s.unlink(key))
}

// Symlink makes a symbolic link that says target.
func (s *Store) Symlink(ctx context.Context, target string, key backing.Key) error {
	if err := s.beginWrite(key); err != nil {
		return told("symlink", key, err)
	}
	defer s.end()
	dir, err := s.parent(key)
	if err != nil {
		return told("symlink", key, err)
	}
	defer unix.Close(dir)
	return told("symlink", key, unix.Symlinkat(target, dir, key.Name()))
}

// Readlink returns what the link at key says; EINVAL where it is none.
func (s *Store) Readlink(ctx context.Context, key backing.Key) (string, error) {
	if err := s.begin(key); err != nil {
		return "", told("read link", key, err)
	}
	defer s.end()
	dir, err := s.tree.dir(key.Dir())
	if err != nil {
		return "", told("read link", key, err)
	}
	defer unix.Close(dir)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, key.Name(), buf)
	if err != nil {
		return "", told("read link", key, err)
	}
	return string(buf[:n]), nil
}

// StatFS returns the fill of the file system that the store lies in.
func (s *Store) StatFS(ctx context.Context) (backing.FSStat, error) {
	if err := s.begin(""); err != nil {
		return backing.FSStat{}, told("statfs", "", err)
	}
	defer s.end()
	var st unix.Statfs_t
	if err := unix.Fstatfs(s.tree.fd, &st); err != nil {
		return backing.FSStat{}, told("statfs", "", err)
	}
	return backing.FSStat{
		BlockSize: uint32(st.Bsize), Blocks: st.Blocks, Free: st.Bfree, Available: st.Bavail,
		Files: st.Files, FreeFiles: st.Ffree, NameLen: uint32(st.Namelen),
	}, nil
}
