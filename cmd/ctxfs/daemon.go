package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ctxfs/access"
)

// readyFD is the daemon's descriptor of the readiness pipe, the first after
// standard error.
const readyFD = 3

// What the daemon says over the readiness pipe, one a line, each followed by a
// text: something to tell the user, why it gives up, that it serves.
const (
	saySomething = "say "
	sayFailed    = "failed "
	sayReady     = "ready "
)

// startDaemon runs this command again in a session of its own and waits until
// it serves or gives up, passing on what it says.
func startDaemon(cmd *cobra.Command, f mountFlags, mountpoint string) error {
	_, err := spawnDaemon(cmd, f, mountpoint, 0)
	return err
}

// spawnDaemon is startDaemon that returns the daemon, which gets the signal
// orphaned, if that is not 0, when the calling thread ends.
func spawnDaemon(cmd *cobra.Command, f mountFlags, mountpoint string, orphaned syscall.Signal) (*os.Process, error) {
	logPath, err := logFilePath(f.log, mountpoint, os.Getenv)
	if err != nil {
		return nil, err
	}
	logFile, err := openLog(logPath)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	ready, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	defer ready.Close()
	child := exec.Command("/proc/self/exe", daemonArgs(cmd.Flags(), mountpoint)...)
	child.Args[0] = "ctxfs"
	child.Env = daemonEnv(cmd.Flags())
	child.Stdout, child.Stderr = logFile, logFile
	child.ExtraFiles = []*os.File{theirs}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: orphaned}
	err = child.Start()
	theirs.Close()
	if err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	if err := listen(ready, cmd.OutOrStdout()); err != nil {
		if werr := child.Wait(); werr != nil && errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("the daemon ended before it served (%w); %s may say why", werr, logPath)
		}
		return nil, err
	}
	return child.Process, nil
}

// listen passes on what the daemon says until it is ready (nil) or has given
// up.
func listen(ready io.Reader, out io.Writer) error {
	sc := bufio.NewScanner(ready)
	for sc.Scan() {
		line := sc.Text()
		if text, ok := strings.CutPrefix(line, saySomething); ok {
			fmt.Fprintln(out, harmless(text))
		} else if text, ok := strings.CutPrefix(line, sayReady); ok {
			fmt.Fprintln(out, harmless(text))
			return nil
		} else if text, ok := strings.CutPrefix(line, sayFailed); ok {
			return errors.New(text)
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("listen to the daemon: %w", err)
	}
	return io.ErrUnexpectedEOF
}

// daemonEnv is the environment of the daemon, nil for that of the command. A
// database's URL goes there, where only its user can read the password in it.
func daemonEnv(given *pflag.FlagSet) []string {
	if store := given.Lookup("store").Value.String(); access.IsURL(store) {
		return append(os.Environ(), "SFA_CONTEXT_STORE="+store)
	}
	return nil
}

// daemonArgs is the command line of the daemon, as ps shows it: that of the
// command, with what it has resolved itself.
func daemonArgs(given *pflag.FlagSet, mountpoint string) []string {
	a := []string{"mount", "--foreground", "--ready-fd", strconv.Itoa(readyFD)}
	given.Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "log": // which is open already
		case f.Name == "store" && access.IsURL(f.Value.String()): // see daemonEnv
		default:
			a = append(a, "--"+f.Name+"="+f.Value.String())
		}
	})
	return append(a, "--", mountpoint)
}
