package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long something may take that must happen, on a machine that
// is busy with other work: only a failure waits so long.
const patience = 2 * time.Minute

// Build makes the command in dir, with the race detector or without, and
// returns its path.
func Build(ctx context.Context, dir string, race bool) (string, error) {
	path := filepath.Join(dir, "ctxfs")
	args := []string{"build", "-o", path}
	if race {
		path += "-race"
		args = []string{"build", "-race", "-o", path}
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "ctxfs/cmd/ctxfs")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return path, nil
}

// Daemon is a mount and the process behind it.
type Daemon struct {
	Point string // where it is mounted
	Store string // the directory behind it
	cmd   *exec.Cmd
	log   *os.File
	ended chan struct{}
	err   error // of Wait; valid when ended is closed
	over  bool  // Ended has said how it went
}

// Start mounts the store of that name below dir, with further arguments of
// `ctxfs mount`, and returns when it serves.
func Start(program, dir, store string, args ...string) (*Daemon, error) {
	d := &Daemon{Point: filepath.Join(dir, store+".mnt"), Store: filepath.Join(dir, store), ended: make(chan struct{})}
	if err := os.MkdirAll(d.Point, 0o755); err != nil {
		return nil, err
	}
	var err error
	if d.log, err = os.OpenFile(filepath.Join(dir, store+".log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	args = append([]string{"mount", "--foreground", "--store", d.Store}, args...)
	d.cmd = exec.Command(program, append(args, d.Point)...)
	d.cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	said, err := d.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	serves := make(chan struct{})
	go func() {
		defer close(d.ended)
		d.listen(said, serves)
		d.err = errors.Join(d.cmd.Wait(), d.log.Close())
	}()
	select {
	case <-serves:
		return d, nil
	case <-d.ended:
		return nil, fmt.Errorf("the daemon does not serve: %w\n%s", d.err, d.Log())
	}
}

// listen keeps what the daemon says, and closes serves when it is mounted.
func (d *Daemon) listen(said io.Reader, serves chan struct{}) {
	lines := bufio.NewReader(said)
	mounted := false
	for {
		line, err := lines.ReadString('\n')
		_, werr := d.log.WriteString(line)
		if !mounted && strings.HasPrefix(line, "mounted ") {
			mounted = true
			close(serves)
		}
		if errors.Join(err, werr) != nil {
			return
		}
	}
}

// Log is what the daemon has said, the end of it.
func (d *Daemon) Log() string {
	b, err := os.ReadFile(d.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-8000):])
}

// Terminate sends the daemon SIGTERM.
func (d *Daemon) Terminate() error { return d.cmd.Process.Signal(syscall.SIGTERM) }

// Kill kills the daemon, takes its mountpoint away, and waits for its end.
func (d *Daemon) Kill() error {
	d.over = true
	err := errors.Join(d.cmd.Process.Kill(), unix.Unmount(d.Point, unix.MNT_DETACH))
	<-d.ended
	return err
}

// Ended waits until the daemon has ended, and returns what was wrong with its
// end. One that does not end is killed, with what it was doing in its log.
func (d *Daemon) Ended() error {
	d.over = true
	select {
	case <-d.ended:
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("the daemon does not end within %v", patience), d.abort())
	}
	if d.err != nil {
		return fmt.Errorf("the daemon ended badly: %w\n%s", d.err, d.Log())
	}
	if err := os.Remove(d.Point); err != nil {
		return fmt.Errorf("the mountpoint is not as before: %w", err)
	}
	return nil
}

// abort ends a daemon that hangs, and its mount.
func (d *Daemon) abort() error {
	err := d.cmd.Process.Signal(syscall.SIGQUIT)
	if uerr := unix.Unmount(d.Point, unix.MNT_DETACH); !errors.Is(uerr, unix.EINVAL) {
		err = errors.Join(err, uerr)
	}
	<-d.ended
	return errors.Join(err, errors.New(d.Log()))
}

// Stop unmounts and waits for the end, if that has not been done.
func (d *Daemon) Stop() error {
	if d.over {
		return nil
	}
	err := unix.Unmount(d.Point, 0)
	if err != nil { // files are open
		err = errors.Join(fmt.Errorf("unmount: %w", err), unix.Unmount(d.Point, unix.MNT_DETACH))
	}
	return errors.Join(err, d.Ended())
}
