package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ctxfs/access"
)

// inNamespace runs the command by `ctxfs run-private` in a mount namespace of
// its own. An ordinary user has one in a user namespace, where the process is
// who it was outside and may mount.
func (r *running) inNamespace(cmd *cobra.Command, store access.Location, at string) error {
	if err := r.setenv(at); err != nil {
		return err
	}
	// A thread's end would be the death of the parent.
	runtime.LockOSThread()
	inner := exec.Command("/proc/self/exe", append([]string{"run-private", "--", store.Name, at}, r.argv...)...)
	inner.Args[0] = "ctxfs"
	if store.Remote() { // whose password is not for the command line
		inner.Env = append(os.Environ(), privateStoreEnv+"="+store.URL())
	}
	inner.Stdin, inner.Stdout, inner.Stderr = os.Stdin, os.Stdout, os.Stderr
	inner.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	if os.Geteuid() != 0 {
		one := func(id int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
		}
		inner.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		inner.SysProcAttr.UidMappings, inner.SysProcAttr.GidMappings = one(os.Geteuid()), one(os.Getegid())
		inner.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	o := attend(inner)
	if !o.started {
		return noNamespace(o.err)
	}
	return o.result(cmd)
}

// privateStoreEnv hands the URL of a database, with its password, to
// `ctxfs run-private`.
const privateStoreEnv = "CTXFS_PRIVATE_STORE"

// noNamespace explains why there is no private mount.
func noNamespace(err error) error {
	if os.Geteuid() == 0 {
		return fmt.Errorf("make a mount namespace: %w; in a container it needs CAP_SYS_ADMIN; or leave out --private", err)
	}
	return fmt.Errorf("make a user and mount namespace: %w; let root allow them (`sysctl user.max_user_namespaces=10000`, on Debian "+
		"kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0); or leave out --private", err)
}

// newRunPrivate is the hidden command that runs in the namespace of
// `ctxfs run --private`.
func newRunPrivate() *cobra.Command {
	return &cobra.Command{
		Use:    "run-private STORE MOUNTPOINT COMMAND [ARG...]",
		Hidden: true,
		Args:   args(cobra.MinimumNArgs(3)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return runPrivate(cmd, a[0], a[1], a[2:])
		},
	}
}

func runPrivate(cmd *cobra.Command, store, at string, argv []string) error {
	runtime.LockOSThread() // for the daemon's parent, and the capabilities
	if err := leaveOthers(); err != nil {
		return noNamespace(err)
	}
	mounting := newMount()
	mounting.SetOut(io.Discard)
	if url := os.Getenv(privateStoreEnv); url != "" {
		store = url
		if err := os.Unsetenv(privateStoreEnv); err != nil { // it is not the command's
			return err
		}
	}
	if err := mounting.Flags().Set("store", store); err != nil {
		return err
	}
	daemon, err := spawnDaemon(mounting, mountFlags{}, at, syscall.SIGTERM)
	if err != nil {
		return err
	}
	// Until it is asked the kernel takes the top for one of uid 0, whom this
	// user namespace does not know, and lets nobody write there.
	if _, err := os.Stat(at); err != nil {
		return err
	}
	all, err := mounts()
	if err != nil {
		return err
	}
	m, _ := mountAt(all, at)
	// What the command is given, it is given as anybody.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up what mounting needs: %w", err)
	}
	command := exec.Command(argv[0], argv[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	o := attend(command)
	if err := endPrivate(cmd, m, daemon); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: end the private mount: %v\n", err)
	}
	return o.result(cmd)
}

// leaveOthers makes this namespace's mounts its own, and takes the mounts of
// other daemons out of it: each copy keeps a mount from ending by itself.
func leaveOthers() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil // they are locked in a user namespace
	}
	all, err := mounts()
	if err != nil {
		return err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Type == fstype {
			// One that cannot be left only makes its own umount slower.
			_ = unix.Unmount(all[i].Point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
	}
	return nil
}

// leftWait is how long processes that the command has left behind may keep
// files of the mount open.
const leftWait = time.Second

// endPrivate ends the mount m and waits until its daemon has committed
// everything and ended.
func endPrivate(cmd *cobra.Command, m mount, daemon *os.Process) error {
	pidfd, err := unix.PidfdOpen(daemon.Pid, 0)
	if err != nil {
		return fmt.Errorf("find the daemon: %w", err)
	}
	defer unix.Close(pidfd)
	users := holders(m.Point)
	if err := detach(m.Point); err != nil {
		return err
	}
	ended, err := waitFor(pidfd, leftWait)
	if err == nil && !ended {
		if users != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: what the command has left behind%s loses its files in %s\n", users, m.Point)
		}
		// The connection may be gone, and the daemon still be committing.
		if err = abortConnection(m); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = waitForEnd(pidfd, daemon.Pid)
		}
	}
	if err != nil {
		return err
	}
	_, err = daemon.Wait()
	return err
}
