package fusefs

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/backing"
	"ctxfs/codec"
)

// errnos is how the errors of stores and rooms look to a program. An error
// that carries an errno of its own (a refusal, a failed system call below)
// keeps it.
var errnos = []struct {
	err   error
	errno syscall.Errno
}{
	{backing.ErrNotFound, syscall.ENOENT},
	{backing.ErrExists, syscall.EEXIST},
	{backing.ErrNotEmpty, syscall.ENOTEMPTY},
	{backing.ErrNotDir, syscall.ENOTDIR},
	{backing.ErrIsDir, syscall.EISDIR},
	{backing.ErrNotRegular, syscall.EPERM},
	{backing.ErrReadOnly, syscall.EROFS},
	{backing.ErrNameTooLong, syscall.ENAMETOOLONG},
	{backing.ErrBadKey, syscall.EINVAL},
	{context.Canceled, syscall.EINTR},
	{context.DeadlineExceeded, syscall.ETIMEDOUT},
}

// status is the one place where an error becomes an errno. What nobody
// expected is a fault: it is logged here and becomes EIO.
func (f *FS) status(op, path string, err error) fuse.Status {
	if err == nil {
		return fuse.OK
	}
	if refusal := (*codec.Refusal)(nil); errors.As(err, &refusal) {
		f.stats.refusals.Add(1)
		return fuse.Status(refusal.Errno)
	}
	for _, e := range errnos {
		if errors.Is(err, e.err) {
			return fuse.Status(e.errno)
		}
	}
	errno := syscall.EIO
	errors.As(err, &errno)
	if fault(errno) {
		f.stats.faults.Add(1)
		f.log.Error("a request failed", "op", op, "path", path, "errno", errno.Error(), "err", err)
	}
	return fuse.Status(errno)
}

// fault tells errors of the medium from those that the caller made.
func fault(e syscall.Errno) bool {
	switch e {
	case syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE,
		syscall.ENOMEM, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EUCLEAN:
		return true
	}
	return false
}

// readAt is ReadAt as a READ wants it: the end of the file is no error.
func readAt(r io.ReaderAt, p []byte, off int64) (int, error) {
	n, err := r.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
