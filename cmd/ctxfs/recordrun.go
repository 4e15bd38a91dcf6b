package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What a shell says of a command that it cannot run.
const (
	statusNotFound   = 127
	statusCannotRun  = 126
	statusSignalBase = 128
)

// perform runs argv with the streams of this process.
func perform(argv []string) outcome {
	o := outcome{began: time.Now()}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	p, err := tap(cmd)
	if err != nil {
		o.err, o.status = err, statusCannotRun
		return o
	}
	o.kept, o.note = p.kept, p.note
	signals := relay()
	defer signals.end()
	err = cmd.Start()
	p.begun()
	if err != nil {
		p.wait()
		o.err, o.status = err, statusCannotRun
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			o.status = statusNotFound
		}
		return o
	}
	signals.to(cmd.Process)
	err = cmd.Wait()
	o.lasted = time.Since(o.began)
	o.err = p.wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		o.err = errors.Join(fmt.Errorf("wait for %s: %w", argv[0], err), o.err)
		o.status = statusCannotRun
		return o
	}
	o.status = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.status, o.signal = statusSignalBase+int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return o
}
