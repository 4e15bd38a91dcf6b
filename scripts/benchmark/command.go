package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	shortLimit = 20 * time.Second // of one mount, unmount, or look at a mount
	killLimit  = 2 * time.Second  // from SIGKILL to the end of a process
)

// sizeLimit is the deadline for touching n entries one after another.
func sizeLimit(n int) time.Duration { return time.Minute + time.Duration(n)*5*time.Millisecond }

// within runs do, which touches a mount, and gives up waiting when ctx ends or
// after limit. A request that a hung daemon has taken cannot be interrupted:
// do then goes on until the daemon is killed, which work.remove does.
func within(ctx context.Context, limit time.Duration, what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case <-timer.C:
		return fmt.Errorf("%s: no end after %v", what, limit)
	}
}

// process is a program that was started and is waited for.
type process struct {
	*exec.Cmd
	ended chan struct{} // closed when it has ended
	err   error         // of Wait, once ended is closed
}

// start starts a program in a process group of its own, so that the
// terminal's interrupt reaches only this one, which then ends it in order.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "RIPGREP_CONFIG_PATH=", "NOTIFY_SOCKET=")
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	p := &process{Cmd: cmd, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// kill ends p and waits for that, but not for ever.
func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended by itself
	select {
	case <-p.ended:
	case <-time.After(killLimit):
	}
}

// run runs a program to its end, at most for limit, and returns what it
// printed on standard output. The exit codes in fine are no error.
func run(ctx context.Context, limit time.Duration, fine []int, argv ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = killLimit
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	what := filepath.Base(argv[0])
	err = within(ctx, limit, what, func() error { <-p.ended; return nil })
	if err != nil {
		p.kill()
		return nil, err
	}
	for _, code := range fine {
		if p.ProcessState.ExitCode() == code {
			return out.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("%s: %w: %s", what, p.err, bytes.TrimSpace(errs.Bytes()))
}
