package joined

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Rename implements [backing.Files]. Two files are exchanged only where both
// are local.
func (s *Store) Rename(ctx context.Context, from, to backing.Key, flags uint) error {
	if flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return fmt.Errorf("rename %s: %w", from, unix.EINVAL)
	}
	source, err := s.at(ctx, from)
	if err != nil {
		return err
	}
	target, local, err := s.atToWrite(ctx, to)
	if err != nil {
		return err
	}
	if local && source == backing.Store(s.local) {
		return s.local.Rename(ctx, from, to, flags)
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		return fmt.Errorf("exchange %s and %s: %w", from, to, unix.EINVAL)
	}
	if err := s.carry(ctx, source, target, from, to, flags); err != nil {
		return fmt.Errorf("rename %s to %s: %w", from, to, err)
	}
	return nil
}

// carry puts what source has at from into target at to, and then removes it.
func (s *Store) carry(ctx context.Context, source, target backing.Store, from, to backing.Key, flags uint) error {
	m, err := source.Stat(ctx, from)
	switch {
	case err != nil:
		return err
	case m.Dir:
		return backing.ErrIsDir
	case from == to:
		return nil
	}
	c, err := source.Open(ctx, from, m.Revision)
	if err != nil {
		return err
	}
	o := backing.PutOptions{Mode: m.Mode, ModTime: m.ModTime}
	if flags&unix.RENAME_NOREPLACE != 0 {
		o.If = backing.Absent
	}
	put, err := target.Put(ctx, to, io.NewSectionReader(c, 0, c.Size()), o)
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	if put.UID != m.UID || put.GID != m.GID {
		// An owner that cannot be given is no failure of the rename.
		_, _ = target.SetAttr(ctx, to, backing.AttrChange{UID: &m.UID, GID: &m.GID})
	}
	return source.Remove(ctx, from, m.Revision)
}
