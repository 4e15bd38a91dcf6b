package variables

import (
	"context"
	"errors"
	"syscall"

	"ctxfs/codec"
	"ctxfs/room"
)

// The extended attributes of a variable.
const (
	XattrType    = "user.ctxfs.type"    // a Type; may be set
	XattrPersist = "user.ctxfs.persist" // "1" or "0"; may be set for session variables
	XattrRef     = "user.ctxfs.ref"     // the ref as JSON; read-only
)

var _ room.Xattrs = (*Room)(nil)

// ListXattr implements [room.Xattrs].
func (r *Room) ListXattr(ctx context.Context, path string) ([]string, error) {
	p, err := placeOf(path)
	if err != nil || p.dir() || p.in != "" {
		return nil, err
	}
	if _, err := r.v.seen(ctx, r.c, p.name()); err != nil {
		return nil, err
	}
	return []string{XattrPersist, XattrRef, XattrType}, nil
}

// GetXattr implements [room.Xattrs].
func (r *Room) GetXattr(ctx context.Context, path, attr string) ([]byte, error) {
	p, err := placeOf(path)
	if err != nil {
		return nil, err
	}
	if attr != XattrType && attr != XattrPersist && attr != XattrRef {
		return nil, syscall.ENOTSUP
	}
	if p.dir() || p.in != "" {
		return nil, syscall.ENODATA
	}
	s, err := r.v.seen(ctx, r.c, p.name())
	if err != nil {
		return nil, err
	}
	switch {
	case attr == XattrType:
		return []byte(s.typ), nil
	case attr == XattrPersist && s.meta().Persist:
		return []byte("1"), nil
	case attr == XattrPersist:
		return []byte("0"), nil
	case s.pending:
		return nil, syscall.ENODATA
	}
	return s.ref().JSON(), nil
}

// SetXattr implements [room.Xattrs]. On a variable that is only being written it
// holds from its first commit.
func (r *Room) SetXattr(ctx context.Context, c room.Caller, path, attr string, value []byte) error {
	c = r.who(c)
	switch attr {
	case XattrType, XattrPersist:
	case XattrRef:
		return syscall.EPERM
	default:
		return syscall.ENOTSUP
	}
	n, err := r.existing(ctx, c, path)
	if err == nil && attr == XattrType {
		var t Type
		if t, err = ParseType(string(value)); err == nil {
			err = r.v.setType(ctx, n, t)
		} else if refused := (*codec.Refusal)(nil); errors.As(err, &refused) {
			refused.Path = roomDir + "/" + n.path()
		}
	} else if err == nil {
		switch string(value) {
		case "1":
			err = r.v.setPersist(ctx, n, true)
		case "0":
			err = r.v.setPersist(ctx, n, false)
		default:
			err = refuse(syscall.EINVAL, path, "persist", "persist is 1 or 0", "setfattr -n "+XattrPersist+" -v 1")
		}
	}
	if err == nil {
		r.v.watchers.Changed(n.path(), false) // it may be a stream now, or none any more
	}
	return r.v.deny(c, err)
}

// RemoveXattr implements [room.Xattrs]: the type becomes that of the key.
func (r *Room) RemoveXattr(ctx context.Context, c room.Caller, path, attr string) error {
	switch attr {
	case XattrType:
		n, err := r.target(r.who(c), path)
		if err != nil {
			return err
		}
		return r.SetXattr(ctx, c, path, attr, []byte(typeOfKey(n.key)))
	case XattrPersist, XattrRef:
		return syscall.EPERM
	}
	return syscall.ENOTSUP
}
