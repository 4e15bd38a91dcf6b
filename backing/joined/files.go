package joined

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"ctxfs/backing"
)

// OpenFile implements [backing.Files].
func (s *Store) OpenFile(ctx context.Context, key backing.Key, flags int, mode fs.FileMode) (backing.File, error) {
	local, found, err := s.sideOf(ctx, key)
	if err != nil {
		return nil, err
	}
	if !local {
		return s.openShared(ctx, key, flags, mode)
	}
	if flags&os.O_CREATE != 0 && !found && s.side(key) == LocalFile {
		if err := s.mirror(ctx, key.Dir()); err != nil {
			return nil, err
		}
	}
	return s.local.OpenFile(ctx, key, flags, mode)
}

// openShared opens an object of the shared store as a file.
func (s *Store) openShared(ctx context.Context, key backing.Key, flags int, mode fs.FileMode) (backing.File, error) {
	m, err := s.shared.Stat(ctx, key)
	switch {
	case errors.Is(err, backing.ErrNotFound) && flags&os.O_CREATE != 0:
		// An append of nothing makes it, and leaves what another host has
		// made meanwhile.
		if flags&os.O_EXCL != 0 {
			_, err = s.shared.Put(ctx, key, nothing{}, backing.PutOptions{If: backing.Absent, Mode: mode.Perm()})
		} else if _, err = s.shared.Append(ctx, key, nil); err == nil && mode.Perm() != 0 {
			perm := mode.Perm()
			_, err = s.shared.SetAttr(ctx, key, backing.AttrChange{Mode: &perm})
		}
	case err == nil && flags&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		err = backing.ErrExists
	case err == nil && m.Dir:
		err = backing.ErrIsDir
	case err == nil && flags&os.O_TRUNC != 0 && m.Size > 0:
		_, err = s.shared.Put(ctx, key, nothing{}, backing.PutOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("open file %s: %w", key, err)
	}
	return &file{store: s.shared, key: key, flags: flags}, nil
}

// Unlink implements [backing.Files].
func (s *Store) Unlink(ctx context.Context, key backing.Key) error {
	local, _, err := s.sideOf(ctx, key)
	if err != nil {
		return err
	}
	if local {
		return s.local.Unlink(ctx, key)
	}
	return s.shared.Remove(ctx, key, "")
}

// Symlink implements [backing.Files]. The shared store has none.
func (s *Store) Symlink(ctx context.Context, target string, key backing.Key) error {
	_, local, err := s.atToWrite(ctx, key)
	if err != nil {
		return err
	}
	if !local {
		if _, err := s.shared.Stat(ctx, key); err == nil {
			return fmt.Errorf("symlink %s: %w", key, backing.ErrExists)
		}
		return fmt.Errorf("symlink %s: %w", key, syscall.EPERM)
	}
	return s.local.Symlink(ctx, target, key)
}

// Readlink implements [backing.Files].
func (s *Store) Readlink(ctx context.Context, key backing.Key) (string, error) {
	local, _, err := s.sideOf(ctx, key)
	if err != nil {
		return "", err
	}
	if local {
		return s.local.Readlink(ctx, key)
	}
	if _, err := s.shared.Stat(ctx, key); err != nil {
		return "", err
	}
	return "", fmt.Errorf("read link %s: %w", key, syscall.EINVAL)
}

// StatFS implements [backing.Files]: the disk of the local side. How full the
// shared store is only its owner knows.
func (s *Store) StatFS(ctx context.Context) (backing.FSStat, error) { return s.local.StatFS(ctx) }
