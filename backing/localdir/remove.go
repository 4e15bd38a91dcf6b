package localdir

import (
	"context"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Remove removes the object at key, durably. Its versions stay.
func (s *Store) Remove(ctx context.Context, key backing.Key, rev backing.Revision) error {
	if err := s.beginWrite(key); err != nil {
		return told("remove", key, err)
	}
	defer s.end()
	if err := ctx.Err(); err != nil {
		return told("remove", key, err)
	}
	defer s.keys.lock(key)()
	return told("remove", key, s.remove(key, rev))
}

func (s *Store) remove(key backing.Key, rev backing.Revision) error {
	dir, err := s.tree.dir(key.Dir())
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	st, err := statAt(dir, key.Name(), 0)
	if err != nil {
		return err
	}
	if err := st.wantRegular(); err != nil {
		return err
	}
	if rev != "" && st.revision() != rev {
		return backing.ErrConflict
	}
	if err := unix.Unlinkat(dir, key.Name(), 0); err != nil {
		return err
	}
	s.appends.replaced(key)
	return uncertain(s.fsync(dir))
}

// unlink removes a name that is no directory, whatever it is.
func (s *Store) unlink(key backing.Key) error {
	dir, err := s.tree.dir(key.Dir())
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Unlinkat(dir, key.Name(), 0)
}
