package localdir

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// SetAttr changes metadata. A new ModTime makes a new revision; mode and
// owner do not. It is not made durable.
func (s *Store) SetAttr(ctx context.Context, key backing.Key, c backing.AttrChange) (backing.Meta, error) {
	if key != "" {
		if err := s.beginWrite(key); err != nil {
			return backing.Meta{}, told("set attributes of", key, err)
		}
	} else if s.readOnly {
		return backing.Meta{}, told("set attributes of", key, backing.ErrReadOnly)
	} else if err := s.begin(key); err != nil {
		return backing.Meta{}, told("set attributes of", key, err)
	}
	defer s.end()
	defer s.keys.lock(key)()
	st, err := s.setAttr(key, c)
	if err != nil {
		return backing.Meta{}, told("set attributes of", key, err)
	}
	return st.meta(key), nil
}

func (s *Store) setAttr(key backing.Key, c backing.AttrChange) (*stat, error) {
	fd, err := s.tree.open(key, unix.O_PATH, 0)
	if err == unix.ELOOP {
		err = unix.ENOTDIR
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if c.UID != nil || c.GID != nil {
		if err := unix.Fchownat(fd, "", owner(c.UID), owner(c.GID), unix.AT_EMPTY_PATH); err != nil {
			return nil, fmt.Errorf("set owner: %w", err)
		}
	}
	if c.Mode != nil {
		// fchmod(2) does not take a descriptor of O_PATH, and a file that
		// its owner may not read gives no other.
		if err := unix.Fchmodat(unix.AT_FDCWD, procPath(fd), uint32(c.Mode.Perm()), 0); err != nil {
			return nil, fmt.Errorf("set mode: %w", err)
		}
	}
	if c.ModTime != nil {
		if err := setModTime(fd, *c.ModTime); err != nil {
			return nil, fmt.Errorf("set time: %w", err)
		}
	}
	return statFD(fd)
}

// owner is the argument of chown(2), in which -1 means "as it is".
func owner(id *uint32) int {
	if id == nil {
		return -1
	}
	return int(*id)
}

// setModTime sets the modification time and leaves that of the last access.
func setModTime(fd int, when time.Time) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {}}
	times[1].Sec, times[1].Nsec = when.Unix(), int64(when.Nanosecond())
	err := unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH)
	if err == unix.EINVAL { // before Linux 5.8
		err = unix.UtimesNanoAt(unix.AT_FDCWD, procPath(fd), times, 0)
	}
	return err
}
