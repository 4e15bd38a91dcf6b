package localdir

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

var errClosed = errors.New("the store is closed")

// told turns err into the error of a method: what was done to what, and the
// store's own word for what the kernel said.
func told(what string, key backing.Key, err error) error {
	if err == nil {
		return nil
	}
	if key == "" {
		return fmt.Errorf("%s the top directory: %w", what, named(err))
	}
	return fmt.Errorf("%s %s: %w", what, key, named(err))
}

// named puts the store's word for an errno in its place, or beside it where
// err says more.
func named(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	word := wordFor(errno)
	switch {
	case word == nil:
		return err
	case err == error(errno):
		return word
	}
	return fmt.Errorf("%w (%w)", err, word)
}

func wordFor(errno syscall.Errno) error {
	switch errno {
	case unix.ENOENT:
		return backing.ErrNotFound
	case unix.EEXIST:
		return backing.ErrExists
	case unix.ENOTDIR:
		return backing.ErrNotDir
	case unix.EISDIR:
		return backing.ErrIsDir
	case unix.ENOTEMPTY:
		return backing.ErrNotEmpty
	case unix.ENAMETOOLONG:
		return backing.ErrNameTooLong
	case unix.EROFS:
		return backing.ErrReadOnly
	}
	return nil
}

// uncertain is the error of a change that has happened, and whose sync has
// failed with err.
func uncertain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: sync directory: %w", backing.ErrUnknown, err)
}
