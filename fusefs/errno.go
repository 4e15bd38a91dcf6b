package fusefs

import (
	"context"
	"errors"
	"io"
	"sync"
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
// expected is a fault: it is logged, becomes EIO, and .ctxfs/errors says why.
func (f *FS) status(op, path string, err error) fuse.Status {
	st := f.unexplained(op, path, err)
	if fault(syscall.Errno(st)) && !isRefusal(err) {
		f.explain(path, syscall.Errno(st), err)
	}
	return st
}

// unexplained is status where the reason is in .ctxfs/errors already.
func (f *FS) unexplained(op, path string, err error) fuse.Status {
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
	return fuse.Status(errno)
}

func isRefusal(err error) bool { return errors.As(err, new(*codec.Refusal)) }

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

// explainEvery is the time between two lines in .ctxfs/errors of faults with the
// same errno: a walk of many files meets them at each.
const explainEvery = 10 * time.Second

// explained remembers when faults were told of.
type explained struct {
	mu   sync.Mutex // guards last
	last map[syscall.Errno]time.Time
}

// due reports whether a fault is to be told at the time now, and notes it.
func (e *explained) due(errno syscall.Errno, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if last, ok := e.last[errno]; ok && now.Sub(last) < explainEvery {
		return false
	}
	if e.last == nil {
		e.last = map[syscall.Errno]time.Time{}
	}
	e.last[errno] = now
	return true
}

// explain tells the mount's owner in .ctxfs/errors why the store failed:
// programs see the errno only.
func (f *FS) explain(path string, errno syscall.Errno, err error) {
	now := time.Now()
	if !f.explained.due(errno, now) {
		return
	}
	r := codec.Refusal{Errno: errno, Path: path, Reason: "the store failed: " + err.Error(),
		Fix: "see what the disk or the server below the store says; then do it again, the mount needs no restart"}
	switch errno {
	case syscall.ETIMEDOUT:
		r.Reason = "the store does not answer: " + err.Error()
		r.Fix = "see whether its server runs and can be reached; then do it again, the mount needs no restart"
	case syscall.ENOSPC, syscall.EDQUOT:
		r.Fix = "make room where the store is; then do it again"
	}
	f.o.Journal.Refuse(r, room.Caller{UID: f.uid}, now)
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
