package localdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Discard removes objects, versions and directories, and syncs each directory
// that held one of them once, at the end. What a crash brings back is as it was.
func (s *Store) Discard(ctx context.Context, list []backing.Removal) []error {
	errs := make([]error, len(list))
	gone := map[backing.Key][]int{} // removed from these directories, by their place in list
	for i, r := range list {
		removed, err := s.discard(ctx, r)
		if removed {
			gone[r.Key.Dir()] = append(gone[r.Key.Dir()], i)
		}
		errs[i] = told("remove", r.Key, err)
	}
	for dir, of := range gone {
		if err := s.syncRemovals(dir); err != nil {
			for _, i := range of {
				errs[i] = errors.Join(errs[i], told("sync the removal of", list[i].Key, err))
			}
		}
	}
	return errs
}

func (s *Store) syncRemovals(dir backing.Key) error {
	if err := s.begin(dir); err != nil {
		return err
	}
	defer s.end()
	err := s.syncDir(dir)
	if err == unix.ENOENT { // removed after them, and so from one that is synced too
		return nil
	}
	return err
}

// discard removes the versions first, under the key's lock: an object without
// them is still found, versions without an object are not.
func (s *Store) discard(ctx context.Context, r backing.Removal) (removed bool, err error) {
	if err := s.beginWrite(r.Key); err != nil {
		return false, err
	}
	defer s.end()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	defer s.keys.lock(r.Key)()
	dir, err := s.tree.dir(r.Key.Dir())
	if err != nil {
		return false, err
	}
	defer unix.Close(dir)
	if r.Object != "" {
		st, err := statAt(dir, r.Key.Name(), 0)
		if err != nil {
			return false, err
		}
		if err := st.wantRegular(); err != nil {
			return false, err
		}
		if st.revision() != r.Object {
			return false, backing.ErrConflict
		}
	}
	if r.Dir {
		err := unix.Unlinkat(dir, r.Key.Name(), unix.AT_REMOVEDIR)
		return err == nil, err
	}
	if err := s.discardVersions(r); err != nil || r.Object == "" {
		return false, err
	}
	if err := unix.Unlinkat(dir, r.Key.Name(), 0); err != nil {
		return false, err
	}
	s.appends.replaced(r.Key)
	return true, nil
}

// discardVersions removes those that are still what r says, and their
// directory with the last one.
func (s *Store) discardVersions(r backing.Removal) error {
	if len(r.Versions) == 0 {
		return nil
	}
	vdir, err := s.tree.dir(versionsDir + "/" + r.Key)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(vdir)
	s.numbers.forget(r.Key)
	for _, v := range r.Versions {
		name := strconv.Itoa(v.N)
		st, err := lookAt(vdir, name)
		if err != nil {
			return fmt.Errorf("remove version %d: %w", v.N, err)
		}
		if st == nil || st.revision() != v.Revision {
			continue
		}
		if err := unix.Unlinkat(vdir, name, 0); err != nil {
			return fmt.Errorf("remove version %d: %w", v.N, err)
		}
	}
	return s.dropVersionsDir(r.Key)
}

// dropVersionsDir removes the directory of key's versions if it is empty. The
// caller has the key's lock.
func (s *Store) dropVersionsDir(key backing.Key) error {
	above, err := s.tree.dir((versionsDir + "/" + key).Dir())
	if err != nil {
		return err
	}
	defer unix.Close(above)
	err = unix.Unlinkat(above, key.Name(), unix.AT_REMOVEDIR)
	if err == unix.ENOTEMPTY || err == unix.EEXIST {
		return nil
	}
	return err
}

// RestoreVersion puts back version v.N of key.
func (s *Store) RestoreVersion(ctx context.Context, key backing.Key, v backing.Version, r io.Reader) error {
	what := fmt.Sprintf("restore version %d of", v.N)
	if err := s.beginWrite(key); err != nil {
		return told(what, key, err)
	}
	defer s.end()
	if v.N < 1 {
		return told(what, key, backing.ErrNotFound)
	}
	st, err := s.stage(ctx, r)
	if err != nil {
		return told(what, key, err)
	}
	err = st.belong(v.UID, v.GID)
	if err == nil {
		err = st.dress(nil, backing.PutOptions{ModTime: v.ModTime, Mode: v.Mode})
	}
	if err == nil {
		err = s.fsync(st.fd)
	}
	if err == nil {
		err = s.linkRestored(key, v.N, st.name)
	}
	return told(what, key, errors.Join(err, st.drop()))
}

// linkRestored gives the staged file its place among the versions of key.
func (s *Store) linkRestored(key backing.Key, n int, staged string) error {
	defer s.keys.lock(key)()
	from, err := s.tree.dir(stagingDir)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	fds, err := s.makePath(versionsDir + "/" + key)
	if err != nil {
		return err
	}
	k := &kept{fds: fds, name: strconv.Itoa(n)}
	defer k.close()
	if err := unix.Linkat(from, staged, fds[len(fds)-1], k.name, 0); err != nil {
		return err
	}
	s.numbers.forget(key)
	return k.sync(s)
}
