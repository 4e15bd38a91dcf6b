package localdir

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

const noSymlinks = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// tree resolves keys below one directory without ever following a symbolic
// link. No descriptor of a directory is kept between calls, because another
// program may have moved the directory away.
type tree struct {
	fd   int
	walk bool // openat2(2) is missing or forbidden: go component by component
}

func newTree(fd int) *tree {
	t := &tree{fd: fd}
	probe, err := t.openat2(".", unix.O_PATH|unix.O_DIRECTORY, 0)
	switch {
	case err == nil:
		unix.Close(probe)
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an old kernel; seccomp
		t.walk = true
	}
	return t
}

// open opens key as openat(2) does, but never through or at a symbolic link.
// Only O_PATH yields a descriptor of a link itself.
func (t *tree) open(key backing.Key, flags int, mode uint32) (int, error) {
	path := string(key)
	if path == "" {
		path = "."
	}
	flags |= unix.O_CLOEXEC | unix.O_NOFOLLOW
	if t.walk {
		return t.openWalk(path, flags, mode)
	}
	return t.openat2(path, flags, mode)
}

func (t *tree) openat2(path string, flags int, mode uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: noSymlinks}
	for {
		fd, err := unix.Openat2(t.fd, path, &how)
		if err != unix.EINTR && err != unix.EAGAIN { // EAGAIN: a rename raced the resolution
			return fd, err
		}
	}
}

func (t *tree) openWalk(path string, flags int, mode uint32) (int, error) {
	at := t.fd
	for {
		part, rest, more := strings.Cut(path, "/")
		f, m := flags, mode
		if more {
			f, m = unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0
		}
		fd, err := openat(at, part, f, m)
		if at != t.fd {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, path = fd, rest
	}
}

// dir opens the directory key for reading, syncing and as a base of *at calls.
func (t *tree) dir(key backing.Key) (int, error) {
	fd, err := t.open(key, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ELOOP {
		err = unix.ENOTDIR
	}
	return fd, err
}

// file opens the regular file key; flags must not contain O_CREAT. A fifo,
// device or socket neither blocks nor is read.
func (t *tree) file(key backing.Key, flags int) (int, *stat, error) {
	fd, err := t.open(key, flags|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, nil, t.explain(key, err)
	}
	st, err := regular(fd)
	if err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, st, nil
}

// explain tells a symbolic link at key, which is no regular file, from one on
// the way to it, which is no directory; and names a socket or fifo.
func (t *tree) explain(key backing.Key, err error) error {
	switch err {
	case unix.ELOOP:
		dir, derr := t.dir(key.Dir())
		if derr != nil {
			return derr
		}
		unix.Close(dir)
		return backing.ErrNotRegular
	case unix.ENXIO:
		return backing.ErrNotRegular
	}
	return err
}

func openat(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// regular describes the open file fd, or says why it is not a regular one.
func regular(fd int) (*stat, error) {
	st, err := statFD(fd)
	if err != nil {
		return nil, err
	}
	return st, st.wantRegular()
}

// fsync is fsync(2). Its failure is final: the kernel may drop the pages and
// answer success the next time.
func fsync(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}
