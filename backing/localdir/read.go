package localdir

import (
	"context"
	"io"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Stat describes the object, directory, link or special file at key.
func (s *Store) Stat(ctx context.Context, key backing.Key) (backing.Meta, error) {
	if err := s.begin(key); err != nil {
		return backing.Meta{}, told("stat", key, err)
	}
	defer s.end()
	s.watches.touch(key.Dir())
	st, err := s.stat(key)
	if err != nil {
		return backing.Meta{}, told("stat", key, err)
	}
	return st.meta(key), nil
}

func (s *Store) stat(key backing.Key) (*stat, error) {
	if key == "" {
		return statFD(s.tree.fd)
	}
	if key.Dir() == "" {
		return statAt(s.tree.fd, string(key), 0)
	}
	fd, err := s.tree.open(key, unix.O_PATH, 0)
	if err == unix.ELOOP { // on the way: O_PATH opens a link at the end
		err = unix.ENOTDIR
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return statFD(fd)
}

// content is a file at the size it had when it was opened, so that an append
// does not show. It offers Fd for passthrough.
type content struct {
	handle
	size int64
}

func (c *content) Size() int64 { return c.size }

func (c *content) ReadAt(p []byte, off int64) (int, error) {
	if off >= c.size {
		return 0, io.EOF
	}
	if left := c.size - off; int64(len(p)) > left {
		n, err := c.handle.ReadAt(p[:left], off)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return c.handle.ReadAt(p, off)
}

// Open returns the content of key at revision rev: the current one, or a kept
// version that had it. What is returned is checked on the open descriptor, so
// that a commit at the same time changes nothing. The content also has
// Fd() uintptr.
func (s *Store) Open(ctx context.Context, key backing.Key, rev backing.Revision) (backing.Content, error) {
	if err := s.begin(key); err != nil {
		return nil, told("open", key, err)
	}
	defer s.end()
	c, err := s.openCurrent(key, rev)
	if err == unix.ENOENT && rev != "" {
		c, err = s.openKept(ctx, key, rev)
	}
	if err == unix.ENOENT && rev != "" {
		// A commit may have kept it between the two looks.
		c, err = s.openCurrent(key, rev)
	}
	if err != nil {
		return nil, told("open", key, err)
	}
	return c, nil
}

func (s *Store) openCurrent(key backing.Key, rev backing.Revision) (*content, error) {
	fd, st, err := s.tree.file(key, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if rev != "" && st.revision() != rev {
		unix.Close(fd)
		return nil, unix.ENOENT
	}
	return newContent(fd, st), nil
}

func newContent(fd int, st *stat) *content {
	return &content{handle: handle{fd: fd}, size: int64(st.Size)}
}
