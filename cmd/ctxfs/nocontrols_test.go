package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ctxfs/codec"
)

// noControls is `no-controls [-tty] COMMAND [ARG...]`: runs the command, on a
// terminal of its own with -tty, and fails where a character of its output
// would control a terminal. That the command fails is no matter.
func noControls() {
	argv := os.Args[1:]
	run := onPipe
	if argv[0] == "-tty" {
		argv, run = argv[1:], onTerminal
	}
	out, err := run(exec.Command(argv[0], argv[1:]...))
	exitOn(err)
	if len(out) == 0 {
		exitOn(errors.New("it prints nothing"))
	}
	for line := range strings.Lines(string(out)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "")
		if strings.ContainsFunc(line, codec.Unprintable) {
			exitOn(fmt.Errorf("it prints %q", line))
		}
	}
}

func onPipe(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	return out, err
}

func onTerminal(cmd *exec.Cmd) ([]byte, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = slave, slave
	err = errors.Join(cmd.Start(), slave.Close())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	// The terminal ends with EIO when its last user has closed it.
	if _, err := io.Copy(&out, master); err != nil && !errors.Is(err, syscall.EIO) {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
