package transfer

import (
	"context"
	"errors"
	"fmt"

	"ctxfs/backing"
)

// OccupiedError is why a store cannot be copied into: what there is in it.
type OccupiedError struct {
	Reason string
}

func (e *OccupiedError) Error() string {
	return "the destination is not empty: " + e.Reason + "; name another one"
}

// lostFound is what a file system that was just made has at its top.
const lostFound = "lost+found"

// empty returns nil where nothing is in dst: no file, no version, at its top
// nothing but empty directories of a store.
func empty(ctx context.Context, dst Store, part func(backing.Key) bool) error {
	for _, dir := range []backing.Key{"", backing.Own} {
		err := each(ctx, dst, dir, func(m backing.Meta) error {
			switch {
			case part(m.Key) && m.Dir:
				return noFile(ctx, dst, m.Key)
			case part(m.Key), dir == "" && m.Key != lostFound:
				return occupied(m.Key)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return dst.Versioned(ctx, func(key backing.Key) error {
		return &OccupiedError{Reason: fmt.Sprintf("versions of %s are in it", key)}
	})
}

func noFile(ctx context.Context, dst Store, dir backing.Key) error {
	return each(ctx, dst, dir, func(m backing.Meta) error {
		if !m.Dir {
			return occupied(m.Key)
		}
		return noFile(ctx, dst, m.Key)
	})
}

func occupied(key backing.Key) error {
	return &OccupiedError{Reason: fmt.Sprintf("%s is in it", key)}
}

// each calls f for every member of dir; one that is not there has none.
func each(ctx context.Context, s backing.Store, dir backing.Key, f func(backing.Meta) error) error {
	l := &lister{store: s, dir: dir}
	for {
		m, err := l.next(ctx)
		if err != nil || m == nil {
			return err
		}
		if err := f(*m); err != nil {
			return err
		}
	}
}

// listPage is how many members one listing asks for.
const listPage = 512

// lister gives the members of a directory one after the other.
type lister struct {
	store backing.Store
	dir   backing.Key
	page  []backing.Meta
	after string
	last  bool // page is the last one
}

// next is nil after the last member, and where there is no directory.
func (l *lister) next(ctx context.Context) (*backing.Meta, error) {
	if len(l.page) == 0 && !l.last {
		page, err := l.store.List(ctx, l.dir, l.after, listPage)
		if errors.Is(err, backing.ErrNotFound) {
			page, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		l.page, l.last = page, len(page) < listPage
	}
	if len(l.page) == 0 {
		return nil, nil
	}
	m := l.page[0]
	l.page, l.after = l.page[1:], m.Key.Name()
	return &m, nil
}
