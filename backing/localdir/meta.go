package localdir

import (
	"io/fs"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

const statxMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME

// stat is what statx(2) says of one inode.
type stat unix.Statx_t

func statFD(fd int) (*stat, error) {
	return statAt(fd, "", unix.AT_EMPTY_PATH)
}

// statAt describes name in the directory dir, a symbolic link as itself.
func statAt(dir int, name string, flags int) (*stat, error) {
	var x unix.Statx_t
	for {
		err := unix.Statx(dir, name, flags|unix.AT_SYMLINK_NOFOLLOW, statxMask, &x)
		if err == nil {
			return (*stat)(&x), nil
		}
		if err != unix.EINTR {
			return nil, err
		}
	}
}

// lookAt is statAt where a missing name is no error but nil.
func lookAt(dir int, name string) (*stat, error) {
	st, err := statAt(dir, name, 0)
	if err == unix.ENOENT {
		return nil, nil
	}
	return st, err
}

func (s *stat) kind() uint16    { return s.Mode & unix.S_IFMT }
func (s *stat) isDir() bool     { return s.kind() == unix.S_IFDIR }
func (s *stat) isRegular() bool { return s.kind() == unix.S_IFREG }
func (s *stat) perm() uint32    { return uint32(s.Mode) & 0o777 }

func (s *stat) wantRegular() error {
	switch {
	case s.isRegular():
		return nil
	case s.isDir():
		return backing.ErrIsDir
	}
	return backing.ErrNotRegular
}

// sameFile reports whether both are one inode; nil is none.
func (s *stat) sameFile(o *stat) bool {
	return s != nil && o != nil && s.Ino == o.Ino && s.Dev_major == o.Dev_major && s.Dev_minor == o.Dev_minor
}

// sameState reports whether nothing that a put looks at has changed.
func (s *stat) sameState(o *stat) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.revision() == o.revision() && s.Mode == o.Mode && s.Uid == o.Uid && s.Gid == o.Gid
}

// revision leaves the change time out, because linking a version changes it,
// and has the birth time in, because inode numbers are used again.
func (s *stat) revision() backing.Revision {
	b := make([]byte, 0, 64)
	b = strconv.AppendUint(b, s.Ino, 36)
	b = append(b, '-')
	b = strconv.AppendUint(b, s.Size, 36)
	b = append(b, '-')
	b = strconv.AppendInt(b, nanoseconds(s.Mtime), 36)
	if s.Mask&unix.STATX_BTIME != 0 {
		b = append(b, '-')
		b = strconv.AppendInt(b, nanoseconds(s.Btime), 36)
	}
	return backing.Revision(b)
}

func (s *stat) meta(key backing.Key) backing.Meta {
	return backing.Meta{
		Key:      key,
		Dir:      s.isDir(),
		Link:     s.kind() == unix.S_IFLNK,
		Special:  !s.isDir() && !s.isRegular() && s.kind() != unix.S_IFLNK,
		Size:     int64(s.Size),
		ModTime:  time.Unix(s.Mtime.Sec, int64(s.Mtime.Nsec)),
		Mode:     fs.FileMode(s.perm()),
		UID:      s.Uid,
		GID:      s.Gid,
		Revision: s.revision(),
		Number:   s.Ino,
	}
}

func nanoseconds(t unix.StatxTimestamp) int64 {
	return t.Sec*1e9 + int64(t.Nsec)
}
