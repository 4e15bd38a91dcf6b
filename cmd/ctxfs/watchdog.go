package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// A daemon that is killed can stay, with all that wait for it: a thread that
// just announces a change waits in the kernel, deaf to signals, for the lock of a
// directory, which a program holds that waits for an answer of the daemon. While
// the thread is there /dev/fuse stays open, so the kernel does not see that nobody
// will answer. Only ending the connection helps, and only another process can do
// that: the watchdog.

const (
	// daemonFD is the watchdog's descriptor of the daemon, a pidfd.
	daemonFD = 3
	// lastThread is how long the watchdog waits for the rest of a daemon whose
	// first thread has ended.
	lastThread = time.Second
	// daemonEnds tells the watchdog that the daemon ends.
	daemonEnds = syscall.SIGUSR1
)

// startWatchdog starts the watchdog of this process, which serves the connection
// conn at point. The function it returns ends it.
func startWatchdog(conn int, point string) (stop func(), err error) {
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	daemon := os.NewFile(uintptr(self), "daemon")
	defer daemon.Close()
	dog := watchdogOf(daemon, conn, point)
	started, end, ended := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		// Pdeathsig comes when the thread ends that has started the process: this
		// one is kept for it.
		runtime.LockOSThread()
		err := startListening(dog)
		started <- err
		if err != nil {
			return
		}
		<-end
		_ = dog.Process.Kill() // it may have ended
		_ = dog.Wait()         // by that signal
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return func() { close(end); <-ended }, nil
}

// watchdogOf is the process that watches the one behind the pidfd daemon.
func watchdogOf(daemon *os.File, conn int, point string) *exec.Cmd {
	dog := exec.Command("/proc/self/exe", "watchdog", "--", strconv.Itoa(conn), point)
	dog.Args[0] = "ctxfs"
	dog.Dir = "/"
	dog.Stderr = os.Stderr // the log
	dog.ExtraFiles = []*os.File{daemon}
	// A session of its own, so that a signal to the daemon's group does not meet it.
	dog.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: daemonEnds}
	return dog
}

// startListening starts dog with its signal blocked, as its thread has it then:
// one that comes before the watchdog listens waits until it does, where Go would
// drop it.
func startListening(dog *exec.Cmd) error {
	var mask unix.Sigset_t
	mask.Val[0] = 1 << (daemonEnds - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &mask, nil); err != nil {
		return fmt.Errorf("block its signal: %w", err)
	}
	return dog.Start()
}

// newWatchdog is the hidden command that is the watchdog of the daemon behind
// daemonFD.
func newWatchdog() *cobra.Command {
	return &cobra.Command{
		Use:    "watchdog CONNECTION MOUNTPOINT",
		Hidden: true,
		Args:   args(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, a []string) error {
			conn, err := strconv.Atoi(a[0])
			if err != nil {
				return fmt.Errorf("the connection: %w", err)
			}
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, daemonEnds)
			// It ends when the daemon does, which may take its time after a SIGTERM.
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
			<-signals
			return releaseClients(mount{Conn: conn, Point: a[1]})
		},
	}
}

// releaseClients waits for the last thread of the daemon that ends, and where
// that stays ends the connection, which lets go of it and of its clients.
func releaseClients(m mount) error {
	ended, err := waitFor(daemonFD, lastThread)
	if ended || err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	log.Error("the daemon was killed while the kernel waited for it: its connection is ended", "mountpoint", m.Point, "connection", m.Conn)
	err = abortConnection(m)
	if err != nil {
		log.Error("end the connection; what waits for the daemon goes on waiting", "mountpoint", m.Point, "connection", m.Conn, "err", err)
	}
	return err
}
