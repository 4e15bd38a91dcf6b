package localdir

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// admit checks the condition of the put against what is at the key.
func (p *put) admit(cur *stat) error {
	switch {
	case p.o.If == "":
		return nil
	case p.o.If == backing.Absent:
		if cur != nil {
			return backing.ErrExists
		}
		return nil
	case cur == nil || cur.revision() != p.o.If:
		return backing.ErrConflict
	}
	return nil
}

// isRetry reports whether the object is what a put with the same Op wrote,
// and makes sure that it is on disk: the earlier put may have failed at that.
func (p *put) isRetry(cur *stat) (bool, error) {
	if p.o.Op == "" || cur == nil {
		return false, nil
	}
	op, err := readOp(p.dir, p.name)
	if err == unix.ENOENT || err == nil && op != p.o.Op {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	fd, err := openat(p.dir, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if err := errors.Join(p.s.fsync(fd), p.s.fsync(p.dir)); err != nil {
		return false, fmt.Errorf("%w: sync again: %w", backing.ErrUnknown, err)
	}
	return true, nil
}

func checkOp(op string) error {
	if len(op) > 64 {
		return fmt.Errorf("operation id of %d bytes, 64 is the most: %w", len(op), unix.EINVAL)
	}
	for _, c := range []byte(op) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
			return fmt.Errorf("operation id %q: only letters, digits and hyphens: %w", op, unix.EINVAL)
		}
	}
	return nil
}
