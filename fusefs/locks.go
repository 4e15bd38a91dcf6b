package fusefs

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ctxfs/room"
)

// locks are the flock and fcntl locks of the mount, by lockNumber: an entry's
// versions and drafts share it. The rules are the kernel's own: each owner has an
// open file description of a memory file, and locks that (fcntl_locking(2), open
// file description locks).
type locks struct {
	mu    sync.Mutex // guards what follows
	files map[lockFile]*lockTable
}

// lockFile names a table: flock and fcntl locks don't see each other.
type lockFile struct {
	ino   uint64
	flock bool
}

type lockTable struct {
	path   string // of the memory file, to open it once more
	fd     int
	owners map[uint64]*lockOwner
}

type lockOwner struct {
	fd   int
	pid  uint32
	node *node  // through which it locked, and the handle: with its last
	fh   uint64 // close the lock ends, whatever FLUSH said (a read-only one brings none)
}

// retry is how often a waiting lock is tried again. Waiting in the kernel
// would hold a thread and hear no interrupt.
const retry = 5 * time.Millisecond

// GetLk tells who stands against a lock.
func (f *FS) GetLk(cancel <-chan struct{}, in *fuse.LkIn, out *fuse.LkOut) fuse.Status {
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.EBADF
	}
	k := f.lockFile(n, in)
	f.locks.mu.Lock()
	defer f.locks.mu.Unlock()
	o, err := f.locks.owner(k, n, in)
	if err != nil {
		return f.status("lock", n.name, err)
	}
	lk := flockT(in)
	if err := unix.FcntlFlock(uintptr(o.fd), unix.F_OFD_GETLK, &lk); err != nil {
		return f.status("lock", n.name, err)
	}
	out.Lk = fuse.FileLock{Start: uint64(lk.Start), End: uint64(lk.Start + lk.Len - 1), Typ: uint32(lk.Type)}
	if lk.Len == 0 {
		out.Lk.End = 1<<63 - 1
	}
	if lk.Type != unix.F_UNLCK {
		out.Lk.Pid = f.locks.someOther(k, in.Owner)
	}
	f.locks.tidy(k)
	return fuse.OK
}

// SetLk locks or unlocks, or says that it can't be now.
func (f *FS) SetLk(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.EBADF
	}
	return f.status("lock", n.name, f.locks.set(f.lockFile(n, in), n, in))
}

// SetLkw waits until it can lock.
func (f *FS) SetLkw(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.EBADF
	}
	t := time.NewTicker(retry)
	defer t.Stop()
	for {
		err := f.locks.set(f.lockFile(n, in), n, in)
		if !errors.Is(err, syscall.EAGAIN) {
			return f.status("lock", n.name, err)
		}
		select {
		case <-t.C:
		case <-cancel:
			return fuse.EINTR
		}
	}
}

func (f *FS) lockFile(n *node, in *fuse.LkIn) lockFile {
	_, _, p := f.tree.where(n)
	return lockFile{n.lockNumber(p.full), in.LkFlags&fuse.FUSE_LK_FLOCK != 0}
}

func flockT(in *fuse.LkIn) unix.Flock_t {
	lk := unix.Flock_t{Type: int16(in.Lk.Typ), Start: int64(in.Lk.Start)}
	if in.Lk.End < 1<<63-1 {
		lk.Len = int64(in.Lk.End-in.Lk.Start) + 1
	}
	return lk
}

func (t *locks) set(k lockFile, n *node, in *fuse.LkIn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	o, err := t.owner(k, n, in)
	if err != nil {
		return err
	}
	lk := flockT(in)
	err = unix.FcntlFlock(uintptr(o.fd), unix.F_OFD_SETLK, &lk)
	if errors.Is(err, syscall.EAGAIN) && t.bury(k) {
		err = unix.FcntlFlock(uintptr(o.fd), unix.F_OFD_SETLK, &lk)
	}
	return err
}

// owner returns an owner's description of the file. t.mu is held.
func (t *locks) owner(k lockFile, n *node, in *fuse.LkIn) (*lockOwner, error) {
	if t.files == nil {
		t.files = map[lockFile]*lockTable{}
	}
	table := t.files[k]
	if table == nil {
		fd, err := unix.MemfdCreate("ctxfs-locks", unix.MFD_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("make a lock table: %w", err)
		}
		table = &lockTable{fd: fd, path: fmt.Sprintf("/proc/self/fd/%d", fd), owners: map[uint64]*lockOwner{}}
		t.files[k] = table
	}
	o := table.owners[in.Owner]
	if o == nil {
		fd, err := unix.Open(table.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open a lock table: %w", err)
		}
		o = &lockOwner{fd: fd, pid: in.Pid, node: n, fh: in.Fh}
		table.owners[in.Owner] = o
	}
	return o, nil
}

// someOther is a process that holds locks of the file. t.mu is held.
func (t *locks) someOther(k lockFile, owner uint64) uint32 {
	for id, o := range t.files[k].owners {
		if id != owner {
			return o.pid
		}
	}
	return 0
}

// bury unlocks what ended processes held: their read-only opens are closed
// without a FLUSH, which would have said so. t.mu is held.
func (t *locks) bury(k lockFile) (any bool) {
	if k.flock {
		return false
	}
	for id, o := range t.files[k].owners {
		if errors.Is(unix.Kill(int(o.pid), 0), syscall.ESRCH) {
			t.drop(k, id)
			any = true
		}
	}
	return any
}

// drop gives up all that owner locked. t.mu is held.
func (t *locks) drop(k lockFile, owner uint64) {
	table := t.files[k]
	if table == nil || table.owners[owner] == nil {
		return
	}
	unix.Close(table.owners[owner].fd)
	delete(table.owners, owner)
	t.tidy(k)
}

// tidy ends a table without owners. t.mu is held.
func (t *locks) tidy(k lockFile) {
	if table := t.files[k]; len(table.owners) == 0 {
		unix.Close(table.fd)
		delete(t.files, k)
	}
}

// flush ends a process's fcntl locks at its first close of the file, as
// POSIX has it.
func (t *locks) flush(n *node, owner uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.files) > 0 {
		t.drop(lockFile{ino: t.number(n)}, owner)
	}
}

// closed ends the fcntl locks that were made through an open file, at its
// end: with handle 0 when nobody has n open for reading any more.
func (t *locks) closed(n *node, fh uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.files) == 0 {
		return
	}
	k := lockFile{ino: t.number(n)}
	if table := t.files[k]; table != nil {
		for id, o := range table.owners {
			if o.node == n && o.fh == fh {
				t.drop(k, id)
			}
		}
	}
}

// release ends the locks of an open file.
func (t *locks) release(n *node, in *fuse.ReleaseIn) {
	if in.Fh != 0 {
		t.closed(n, in.Fh)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.files) > 0 && in.ReleaseFlags&fuse.FUSE_RELEASE_FLOCK_UNLOCK != 0 {
		t.drop(lockFile{ino: t.number(n), flock: true}, in.LockOwner)
	}
}

// close gives up all locks.
func (t *locks) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, table := range t.files {
		for id := range table.owners {
			t.drop(k, id)
		}
	}
}

func (t *locks) number(n *node) uint64 { return n.lockNumber(n.place.full) }

// lockNumber is the same for all versions and drafts of an Object and all nodes
// of a file of lines, and else the node's: who has a lock has the file open,
// and so the kernel keeps the node.
func (n *node) lockNumber(full string) uint64 {
	if info := n.describe(); info.Kind == room.Object || info.Lines {
		return inoOf(n.tree.seed, full)
	}
	return n.id
}
