package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// abort ends the connection of a mount whose daemon does not answer, and
// takes it out of the tree.
func abort(out io.Writer, m mount) error {
	if err := abortConnection(m); err != nil {
		fmt.Fprintf(out, "cannot abort the connection (%v); processes that wait for it go on waiting\n", err)
	}
	if err := detach(m.Point); err != nil {
		return fmt.Errorf("detach %s: %w", m.Point, err)
	}
	fmt.Fprintf(out, "%s is out of the tree\n", m.Point)
	return nil
}

// abortConnection ends the connection of a mount: files that are open in it
// fail from then on. It is fs.ErrNotExist where the connection is gone, or out of
// reach.
func abortConnection(m mount) error {
	// Opened without O_CREATE: where the control file system is not mounted
	// there is nothing to write to.
	f, err := os.OpenFile(fmt.Sprintf("/sys/fs/fuse/connections/%d/abort", m.Conn), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if forced := forceAbort(m); forced != nil {
			return errors.Join(err, forced)
		}
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("1")
	return errors.Join(err, f.Close())
}

// forceAbort is abortConnection as umount -f does it, which only root may. The
// mount stays, so that nobody writes into the directory below it.
func forceAbort(m mount) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	if now, ok := mountAt(all, m.Point); !ok || now.Conn != m.Conn {
		return fmt.Errorf("it is not mounted at %s any more", m.Point)
	}
	// Keeps the mount busy. O_PATH asks the daemon nothing.
	fd, err := unix.Open(m.Point, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", m.Point, err)
	}
	defer unix.Close(fd)
	if err := unix.Unmount(m.Point, unix.MNT_FORCE|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("force %s: %w", m.Point, err)
	}
	return nil
}
