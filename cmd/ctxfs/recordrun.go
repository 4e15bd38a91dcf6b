package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"
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
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	p, err := tap(cmd)
	if err != nil {
		return outcome{began: time.Now(), err: err, status: statusCannotRun}
	}
	o := attend(cmd, p.begun)
	o.kept, o.note = p.kept, p.note
	o.err = errors.Join(o.err, p.wait())
	return o
}

// attend runs cmd to its end, and passes signals on to it. Each of begun is
// called when it has been started, or could not be.
func attend(cmd *exec.Cmd, begun ...func()) outcome {
	o := outcome{began: time.Now()}
	signals := relay()
	defer signals.end()
	err := cmd.Start()
	for _, f := range begun {
		f()
	}
	if err != nil {
		o.err, o.status = err, int(cannotRun(err))
		return o
	}
	o.started = true
	signals.to(cmd.Process)
	err = cmd.Wait()
	o.lasted = time.Since(o.began)
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		o.err = fmt.Errorf("wait for %s: %w", cmd.Args[0], err)
		o.status = statusCannotRun
		return o
	}
	o.status = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.status, o.signal = statusSignalBase+int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return o
}

// result says on standard error what went wrong, and is the error that ends
// ctxfs with the command's status.
func (o outcome) result(cmd *cobra.Command) error {
	if o.err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: %v\n", o.err)
	}
	if o.status == 0 {
		return nil
	}
	return exitStatus(o.status)
}
