package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

const (
	// umountWait is how long umount waits for the daemon to finish its commits.
	umountWait = 30 * time.Second
	// noticeWait is how long the kernel may take to tell the daemon. It does
	// not, where another mount namespace has a copy of the mount.
	noticeWait = time.Second
)

func newUmount() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:        "umount [flags] [MOUNTPOINT]",
		Aliases:    []string{"unmount"},
		SuggestFor: []string{"stop", "end"},
		Short:      "End a mount; returns when everything is written",
		Long: `End the mount at MOUNTPOINT, by default ~/context. Where files are open in it,
it is taken out of the tree at once and ends when they are closed.`,
		Example: "  ctxfs umount\n  ctxfs umount --force ~/context",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			point, err := mountpointArg(a)
			if err != nil {
				return err
			}
			return umount(cmd.OutOrStdout(), point, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "end also a daemon that does not answer; what it has not committed is lost")
	cmd.ValidArgsFunction = completeMounts
	return cmd
}

func umount(out io.Writer, point string, force bool) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	m, ok := mountAt(all, point)
	if !ok || m.Type != fstype {
		return fmt.Errorf("%s is not a ctxfs mount; `ctxfs status` lists them", point)
	}
	stats, state := probe(point)
	switch state {
	case serving:
		return umountServing(out, point, stats.PID)
	case stale:
		if err := detach(point); err != nil {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
		fmt.Fprintf(out, "unmounted %s, which a crashed daemon had left\n", point)
		return nil
	case foreign:
		// Root may end it, but not look into it, and so not wait either.
		return umountForeign(out, point)
	}
	if !force {
		return fmt.Errorf("the mount at %s is %s; `ctxfs umount --force %s` ends it, and what it has not committed is lost", point, state, point)
	}
	return abort(out, m)
}

func umountForeign(out io.Writer, point string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("the mount at %s belongs to another user", point)
	}
	busy, err := unmount(point)
	if err != nil {
		return err
	}
	what := "its daemon may still be committing"
	if busy {
		what = "files are open in it, it ends when they are closed"
	}
	_, err = fmt.Fprintf(out, "%s, which belongs to another user, is out of the tree; %s\n", point, what)
	return err
}

func umountServing(out io.Writer, point string, pid int) error {
	daemon, err := unix.PidfdOpen(pid, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("find the daemon %d of %s: %w", pid, point, err)
	}
	if err == nil {
		defer unix.Close(daemon)
	}
	users := holders(point)
	busy, err := unmount(point)
	if err != nil {
		return err
	}
	if busy {
		fmt.Fprintf(out, "files are open in %s%s: it is out of the tree, and ends when they are closed\n", point, users)
		return nil
	}
	return waitForEnd(daemon, pid)
}

// unmount ends the mount at point; busy says that files are open, and that it
// was only detached.
func unmount(point string) (busy bool, err error) {
	if os.Geteuid() == 0 {
		err = unix.Unmount(point, 0)
	} else {
		err = fusermount(point, "-u")
	}
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, unix.EBUSY) {
		return false, fmt.Errorf("unmount %s: %w", point, err)
	}
	if err := detach(point); err != nil {
		return false, fmt.Errorf("detach %s: %w", point, err)
	}
	return true, nil
}

// fusermount asks the set-uid program of fuse3, which ordinary users need. A
// busy mount is EBUSY.
func fusermount(point string, args ...string) error {
	cmd := exec.Command("fusermount3", append(args, "--", point)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if strings.Contains(string(out), "busy") {
		return unix.EBUSY
	}
	return fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
}

// waitForEnd waits until the process pid, behind the pidfd daemon, has ended,
// and asks it to if it has not heard of the unmount.
func waitForEnd(daemon, pid int) error {
	ended, err := waitFor(daemon, noticeWait)
	if err == nil && !ended {
		err = unix.PidfdSendSignal(daemon, unix.SIGTERM, nil, 0)
		if err == nil {
			ended, err = waitFor(daemon, umountWait-noticeWait)
		}
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("wait for the daemon %d: %w", pid, err)
	}
	if err == nil && !ended {
		return fmt.Errorf("the daemon %d is still at work after %v", pid, umountWait)
	}
	return nil
}

// waitFor reports whether the process behind the pidfd ends within limit.
func waitFor(daemon int, limit time.Duration) (ended bool, err error) {
	deadline := time.Now().Add(limit)
	for left := limit; left > 0; left = time.Until(deadline) {
		fds := []unix.PollFd{{Fd: int32(daemon), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
	return false, nil
}
