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
	logPath, err := logFilePath(f.log, mountpoint, os.Getenv)
	if err != nil {
		return err
	}
	logFile, err := openLog(logPath)
	if err != nil {
		return err
	}
	defer logFile.Close()
	ready, theirs, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	defer ready.Close()
	child := exec.Command("/proc/self/exe", f.daemonArgs(mountpoint)...)
	child.Args[0] = "ctxfs"
	child.Stdout, child.Stderr = logFile, logFile
	child.ExtraFiles = []*os.File{theirs}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = child.Start()
	theirs.Close()
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	if err := listen(ready, cmd.OutOrStdout()); err != nil {
		if werr := child.Wait(); werr != nil && errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the daemon ended before it served (%w); %s may say why", werr, logPath)
		}
		return err
	}
	return nil
}

// listen passes on what the daemon says until it is ready (nil) or has given
// up.
func listen(ready io.Reader, out io.Writer) error {
	sc := bufio.NewScanner(ready)
	for sc.Scan() {
		line := sc.Text()
		if text, ok := strings.CutPrefix(line, saySomething); ok {
			fmt.Fprintln(out, text)
		} else if text, ok := strings.CutPrefix(line, sayReady); ok {
			fmt.Fprintln(out, text)
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

// daemonArgs is the command line of the daemon, as ps shows it.
func (f mountFlags) daemonArgs(mountpoint string) []string {
	a := []string{"mount", "--foreground", "--ready-fd", strconv.Itoa(readyFD)}
	if f.store != "" {
		a = append(a, "--store", f.store)
	}
	if f.agent != "" {
		a = append(a, "--agent", f.agent)
	}
	switches := []struct {
		name string
		on   bool
	}{{"--allow-other", f.allowOther}, {"--strict", f.strict}, {"--debug", f.debug}}
	for _, s := range switches {
		if s.on {
			a = append(a, s.name)
		}
	}
	return append(a, "--", mountpoint)
}
