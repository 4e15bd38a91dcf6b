package localdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// kept is a version that was linked for a put, to be synced before its rename
// or taken back where that does not happen.
type kept struct {
	fds  []int // directories that changed, the version's own last
	name string
}

// keep links what is at name in dir as the next version of key. The caller
// has the key's lock.
func (s *Store) keep(key backing.Key, dir int, name string, cur *stat) (*kept, error) {
	fds, err := s.makePath(versionsDir + "/" + key)
	if err != nil {
		return nil, fmt.Errorf("keep version: %w", err)
	}
	vdir := fds[len(fds)-1]
	n, err := s.linkVersion(key, vdir, dir, name, cur)
	if err != nil {
		closeAll(fds)
		return nil, fmt.Errorf("keep version: %w", err)
	}
	return &kept{fds: fds, name: strconv.Itoa(n)}, nil
}

func (s *Store) linkVersion(key backing.Key, vdir, dir int, name string, cur *stat) (int, error) {
	n, known := s.numbers.get(key)
	if !known {
		all, err := versionNumbers(vdir, key)
		if err != nil {
			return 0, err
		}
		if len(all) > 0 {
			// The newest may be a link that a crash left before its rename:
			// then it is the current file, and its number is used again.
			n = all[len(all)-1] - 1
		}
	}
	for {
		n++
		err := unix.Linkat(dir, name, vdir, strconv.Itoa(n), 0)
		if err == unix.EEXIST {
			there, serr := statAt(vdir, strconv.Itoa(n), 0)
			if serr != nil || !there.sameFile(cur) {
				continue
			}
			err = nil
		}
		if err != nil {
			return 0, err
		}
		s.numbers.set(key, n)
		return n, nil
	}
}

// sync makes the link durable, beside the staged file's sync; in an ordered
// store it is so before the rename anyway.
func (k *kept) sync(s *Store) error {
	if s.ordered {
		return nil
	}
	waits := make([]func() error, len(k.fds))
	for i, fd := range k.fds {
		waits[i] = async(func() error { return s.fsync(fd) })
	}
	var err error
	for _, wait := range waits {
		err = errors.Join(err, wait())
	}
	if err != nil {
		return fmt.Errorf("sync version: %w", err)
	}
	return nil
}

// undo takes the link back, as well as it can: what stays is recognised by
// its inode later.
func (k *kept) undo(s *Store, key backing.Key) {
	_ = unix.Unlinkat(k.fds[len(k.fds)-1], k.name, 0)
	s.numbers.forget(key)
}

func (k *kept) close() { closeAll(k.fds) }

// Versions lists the kept versions of key, oldest first.
func (s *Store) Versions(ctx context.Context, key backing.Key) ([]backing.Version, error) {
	if err := s.begin(key); err != nil {
		return nil, told("list versions of", key, err)
	}
	defer s.end()
	var list []backing.Version
	err := s.eachVersion(ctx, key, func(n int, st *stat) bool {
		list = append(list, st.version(n))
		return true
	})
	slices.Reverse(list)
	return list, told("list versions of", key, err)
}

// version describes version n, which st is of.
func (st *stat) version(n int) backing.Version {
	return backing.Version{N: n, Size: int64(st.Size), ModTime: time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)),
		Mode: fs.FileMode(st.perm()), UID: st.Uid, GID: st.Gid, Revision: st.revision()}
}

// StatVersion describes version n of key.
func (s *Store) StatVersion(ctx context.Context, key backing.Key, n int) (backing.Version, error) {
	if err := s.begin(key); err != nil {
		return backing.Version{}, told("look at a version of", key, err)
	}
	defer s.end()
	v, err := s.statVersion(key, n)
	return v, told(fmt.Sprintf("look at version %d of", n), key, err)
}

func (s *Store) statVersion(key backing.Key, n int) (backing.Version, error) {
	c, err := s.openVersion(key, n)
	if err != nil {
		return backing.Version{}, err
	}
	st, err := statFD(c.fd)
	if err = errors.Join(err, c.Close()); err != nil {
		return backing.Version{}, err
	}
	return st.version(n), nil
}

// eachVersion calls yield for the versions of key, newest first, until it
// returns false. A link to the object itself is none: it is that of a put
// which is not finished, or which a crash ended.
func (s *Store) eachVersion(ctx context.Context, key backing.Key, yield func(n int, st *stat) bool) error {
	if key == "" {
		return nil
	}
	vdir, err := s.tree.dir(versionsDir + "/" + key)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(vdir)
	all, err := versionNumbers(vdir, key)
	if err != nil {
		return err
	}
	cur, err := s.stat(key)
	if err != nil && err != unix.ENOENT && err != unix.ENOTDIR {
		return err
	}
	for _, n := range slices.Backward(all) {
		if err := ctx.Err(); err != nil {
			return err
		}
		st, err := lookAt(vdir, strconv.Itoa(n))
		if err != nil {
			return err
		}
		if st == nil || !st.isRegular() || st.sameFile(cur) {
			continue
		}
		if !yield(n, st) {
			return nil
		}
	}
	return nil
}

// OpenVersion returns the content of version n of key.
func (s *Store) OpenVersion(ctx context.Context, key backing.Key, n int) (backing.Content, error) {
	if err := s.begin(key); err != nil {
		return nil, told("open version of", key, err)
	}
	defer s.end()
	c, err := s.openVersion(key, n)
	if err != nil {
		return nil, told(fmt.Sprintf("open version %d of", n), key, err)
	}
	return c, nil
}

func (s *Store) openVersion(key backing.Key, n int) (*content, error) {
	if key == "" || n < 1 {
		return nil, unix.ENOENT
	}
	fd, st, err := s.tree.file(versionsDir+"/"+key+"/"+backing.Key(strconv.Itoa(n)), unix.O_RDONLY)
	if err == unix.ENOTDIR || err == backing.ErrIsDir { // another key's
		err = unix.ENOENT
	}
	if err != nil {
		return nil, err
	}
	if cur, err := s.stat(key); err == nil && cur.sameFile(st) {
		unix.Close(fd)
		return nil, unix.ENOENT
	}
	return newContent(fd, st), nil
}

// openKept returns the newest kept version that has revision rev.
func (s *Store) openKept(ctx context.Context, key backing.Key, rev backing.Revision) (*content, error) {
	found := 0
	err := s.eachVersion(ctx, key, func(n int, st *stat) bool {
		if st.revision() == rev {
			found = n
		}
		return found == 0
	})
	if err != nil {
		return nil, err
	}
	c, err := s.openVersion(key, found)
	if err != nil {
		return nil, err
	}
	if st, err := statFD(c.fd); err != nil || st.revision() != rev {
		c.Close()
		return nil, unix.ENOENT
	}
	return c, nil
}

func versionNumbers(vdir int, key backing.Key) ([]int, error) {
	names, err := readNames(vdir, versionsDir+"/"+key)
	if err != nil {
		return nil, err
	}
	all := make([]int, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 && strconv.Itoa(n) == name {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

const maxNumbers = 4096

// numbers remembers the newest version of keys that were put lately: a hint,
// the link itself says whether it holds.
type numbers struct {
	mu   sync.Mutex // guards last
	last map[backing.Key]int
}

func (c *numbers) get(key backing.Key) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.last[key]
	return n, ok
}

func (c *numbers) set(key backing.Key, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || len(c.last) >= maxNumbers {
		c.last = make(map[backing.Key]int)
	}
	c.last[key] = n
}

func (c *numbers) forget(key backing.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, key)
}
