package localdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// A put changes a file's bytes, its inode, the versions' directories and the
// name. Elsewhere each is synced before the next. A file system with a journal
// writes changes of names and inodes in the order in which they were made, so
// there one fsync at the end is enough: once the bytes lie on the device
// (sync_file_range waits for them, and for the allocation of their blocks),
// whatever part of the journal survives a crash holds no name without its
// content and no replacement without its version. That fsync flushes the
// device's cache before it writes the journal's commit, and returns when all
// is durable.

// keepsOrder reports whether dir lies on such a file system: XFS, or ext4 with
// an internal journal. Where that cannot be seen it says no.
func keepsOrder(dir int) bool {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(dir, &fs); err != nil {
		return false
	}
	switch fs.Type {
	case unix.XFS_SUPER_MAGIC:
		return true
	case unix.EXT4_SUPER_MAGIC:
		return hasJournal(dir)
	}
	return false
}

// hasJournal looks for the journal that jbd2 shows for each file system: a
// directory with the device's name and the number of the journal's inode, which
// is 8. ext4 has the number of ext2, which has no journal.
func hasJournal(dir int) bool {
	st, err := statFD(dir)
	if err != nil {
		return false
	}
	device, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", st.Dev_major, st.Dev_minor))
	if err != nil {
		return false
	}
	_, err = os.Stat("/proc/fs/jbd2/" + filepath.Base(device) + "-8")
	return err == nil
}

// writeOut waits until the bytes of fd have blocks and lie on the device,
// perhaps in its cache. With all three flags the kernel leaves no page out.
func writeOut(fd int) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	for {
		err := unix.SyncFileRange(fd, 0, 0, all)
		if err != unix.EINTR {
			return err
		}
	}
}

// publishOrdered exchanges the staged file and cur, and makes that durable.
// Where it cannot, cur is put back. again says that another program replaced
// cur: what it wrote is put back too.
func (p *put) publishOrdered(cur *stat) (again bool, err error) {
	from, err := p.s.tree.dir(stagingDir)
	if err != nil {
		return false, err
	}
	defer unix.Close(from)
	flags := uint(unix.RENAME_NOREPLACE)
	if cur != nil {
		flags = unix.RENAME_EXCHANGE
	}
	err = unix.Renameat2(from, p.staged.name, p.dir, p.name, flags)
	if err == unix.EEXIST && cur == nil || err == unix.ENOENT && cur != nil {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	p.published = true
	replaced, err := lookAt(from, p.staged.name)
	if err == nil && !replaced.sameState(cur) {
		return true, p.takeBack(from, flags)
	}
	if err == nil {
		// The directory, whose change the rename is: XFS need not have logged
		// the inodes of files that were exchanged, and an fsync of such a file
		// would not wait for it.
		err = p.s.fsync(p.dir)
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("sync name: %w", err), p.takeBack(from, flags))
	}
	p.s.appends.replaced(p.key)
	if cur != nil {
		// Should this fail, the next Open removes it.
		_ = unix.Unlinkat(from, p.staged.name, 0)
	}
	return false, nil
}

// takeBack undoes the rename, as a file system that has just failed to sync
// lets it. Its error is backing.ErrUnknown: the new content stays there then.
func (p *put) takeBack(from int, flags uint) error {
	err := unix.Renameat2(p.dir, p.name, from, p.staged.name, flags)
	if err != nil {
		p.s.appends.replaced(p.key)
		return fmt.Errorf("%w: take back: %w", backing.ErrUnknown, err)
	}
	p.published = false
	return nil
}
