package apart

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// In the process that has mounts of its own, this names a tmpfs of its own, or
// is "none".
const namespaceEnv = "CTXFS_TORTURE_NAMESPACE"

// Leave begins the tests anew with mounts of their own. Who is not root keeps
// those of all. With inMemory the temporary directory lies there, where no
// sync waits for a disk that others are busy with.
func Leave(inMemory bool) error {
	if os.Geteuid() != 0 || os.Getenv(namespaceEnv) != "" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // what this thread leaves, exec makes true for the process
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if !inMemory {
		return anew(self, "none")
	}
	dir, err := os.MkdirTemp("", "torture")
	if err != nil {
		return err
	}
	if err := unix.Mount("torture", dir, "tmpfs", 0, "size=1g,mode=755"); err != nil {
		return errors.Join(fmt.Errorf("mount a tmpfs: %w", err), os.Remove(dir))
	}
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	return anew(self, dir)
}

// anew begins the program again. Of a name that stands twice in its
// environment the first one would count: what is new is set, not appended.
func anew(self, namespace string) error {
	if err := os.Setenv(namespaceEnv, namespace); err != nil {
		return err
	}
	return unix.Exec(self, os.Args, os.Environ())
}

// End takes away what Leave made.
func End() error {
	dir := os.Getenv(namespaceEnv)
	if dir == "" || dir == "none" {
		return nil
	}
	return errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir))
}
