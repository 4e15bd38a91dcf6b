package localdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// opAttr holds the operation id of the put that wrote a file.
const opAttr = "user.ctxfs.op"

// staged is content under a name in the staging directory, until the rename
// that publishes it.
type staged struct {
	s    *Store
	fd   int // borrowed from upload where there is one
	name string
	from *upload // nil where the content came from a reader
}

// stagingName is short and random, because a key's name of 255 bytes leaves
// no room for an ending.
func stagingName() string { return strconv.FormatUint(rand.Uint64(), 36) }

// newStaged makes an empty staged file.
func (s *Store) newStaged() (*staged, error) {
	for {
		name := stagingName()
		fd, err := s.tree.open(stagingDir.Join(name), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
		switch err {
		case nil:
			return &staged{s: s, fd: fd, name: name}, nil
		case unix.EEXIST:
		case unix.ENOENT: // somebody removed .ctxfs under our feet
			if err := s.makeOwnDir(stagingDir); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

// stage writes what r holds to a staged file.
func (s *Store) stage(ctx context.Context, r io.Reader) (*staged, error) {
	if u, ok := r.(*upload); ok && u.s == s {
		return u.stage(ctx)
	}
	st, err := s.newStaged()
	if err != nil {
		return nil, fmt.Errorf("stage: %w", err)
	}
	if err := copyTo(ctx, st.fd, r); err != nil {
		return nil, errors.Join(fmt.Errorf("stage: %w", err), st.drop())
	}
	return st, nil
}

func copyTo(ctx context.Context, fd int, r io.Reader) error {
	if b, ok := r.(io.WriterTo); ok {
		_, err := b.WriteTo(&fdWriter{ctx: ctx, fd: fd})
		return err
	}
	_, err := io.CopyBuffer(&fdWriter{ctx: ctx, fd: fd}, r, make([]byte, 256<<10))
	return err
}

// fdWriter writes at the descriptor's end until ctx is cancelled.
type fdWriter struct {
	ctx context.Context
	fd  int
	off int64
}

func (w *fdWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := pwriteFull(w.fd, p, w.off)
	w.off += int64(n)
	return n, err
}

// dress gives the staged file what the object will have besides its bytes:
// mode, owner, operation id and time. cur is what it replaces, or nil.
func (st *staged) dress(cur *stat, o backing.PutOptions) error {
	mode := uint32(o.Mode.Perm())
	if mode == 0 {
		mode = 0o644
		if cur != nil {
			mode = cur.perm()
		}
	}
	if cur != nil {
		if err := st.belong(cur.Uid, cur.Gid); err != nil {
			return err
		}
	}
	if err := unix.Fchmod(st.fd, mode); err != nil {
		return fmt.Errorf("set mode: %w", err)
	}
	if o.Op != "" {
		err := unix.Fsetxattr(st.fd, opAttr, []byte(o.Op), 0)
		if err != nil && err != unix.ENOTSUP { // there a retry is a second write
			return fmt.Errorf("set operation id: %w", err)
		}
	}
	when := o.ModTime
	if when.IsZero() {
		if st.from == nil {
			return nil // the kernel's time of the last write
		}
		when = time.Now()
	}
	if err := setModTime(st.fd, when); err != nil {
		return fmt.Errorf("set time: %w", err)
	}
	return nil
}

// belong gives the staged file to an owner. Who may not give files away keeps
// writing as himself, as editors that save by rename do.
func (st *staged) belong(uid, gid uint32) error {
	if uid == uint32(os.Geteuid()) && gid == uint32(os.Getegid()) {
		return nil
	}
	if err := unix.Fchown(st.fd, int(uid), int(gid)); err != nil && err != unix.EPERM {
		return fmt.Errorf("set owner: %w", err)
	}
	return nil
}

// lose notes that the content could not be synced, and returns err. An upload
// is not tried again.
func (st *staged) lose(err error) error {
	if st.from != nil {
		st.from.lost = err // its mu is held until the put ends
	}
	return err
}

// drop removes the staged name. An upload keeps its own for the next try.
func (st *staged) drop() error {
	if st.from != nil {
		st.from.mu.Unlock()
		return nil
	}
	unix.Close(st.fd)
	return st.s.unlinkStaged(st.name)
}

// published ends the staged file after the rename.
func (st *staged) published() {
	if st.from != nil {
		st.from.consume()
		st.from.mu.Unlock()
		return
	}
	unix.Close(st.fd)
}

func (s *Store) unlinkStaged(name string) error {
	dir, err := s.tree.dir(stagingDir)
	if err != nil {
		return fmt.Errorf("remove staged file: %w", err)
	}
	defer unix.Close(dir)
	if err := unix.Unlinkat(dir, name, 0); err != nil {
		return fmt.Errorf("remove staged file: %w", err)
	}
	return nil
}

// emptyStaging removes what a killed process left. The caller has the lock.
func (s *Store) emptyStaging() error {
	dir, err := s.tree.dir(stagingDir)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	names, err := readNames(dir, stagingDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		// Directories are not ours.
		if err := unix.Unlinkat(dir, name, 0); err != nil && err != unix.EISDIR {
			return fmt.Errorf("remove left staging file %s: %w", name, err)
		}
	}
	return nil
}

// readOp returns the operation id of the file name in dir, "" for none.
func readOp(dir int, name string) (string, error) {
	fd, err := openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, 65)
	n, err := unix.Fgetxattr(fd, opAttr, buf)
	switch err {
	case nil:
		return string(buf[:n]), nil
	case unix.ENODATA, unix.ENOTSUP, unix.ERANGE: // none, or not one of ours
		return "", nil
	}
	return "", fmt.Errorf("read operation id: %w", err)
}
