package fusefs

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
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
	errno := errnoOf(err)
	if fault(errno) {
		f.stats.faults.Add(1)
		f.log.Error("a request failed", "op", op, "path", path, "errno", errno.Error(), "err", err)
	}
	if errno == syscall.ETIMEDOUT {
		f.outOfReach(path, err)
	}
	return fuse.Status(errno)
}

func errnoOf(err error) syscall.Errno {
	for _, e := range errnos {
		if errors.Is(err, e.err) {
			return e.errno
		}
	}
	errno := syscall.EIO
	errors.As(err, &errno)
	return errno
}

// outOfReachEvery is the time between two lines in .ctxfs/errors that the store
// is out of reach: a walk of many files finds that out at each of them.
const outOfReachEvery = 10 * time.Second

// outOfReach tells in .ctxfs/errors why a store did not answer in time: programs
// see the errno only.
func (f *FS) outOfReach(path string, err error) {
	now := time.Now()
	last := f.unreached.Load()
	if now.UnixNano()-last < int64(outOfReachEvery) || !f.unreached.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	f.o.Journal.Refuse(codec.Refusal{Errno: syscall.ETIMEDOUT, Path: path,
		Reason: "the store does not answer: " + err.Error(),
		Fix:    "see whether its server runs and can be reached; then do it again, the mount needs no restart"},
		room.Caller{UID: f.uid}, now)
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
