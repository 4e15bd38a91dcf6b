package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// program finds one of PostgreSQL's, the newest where there are several:
// Debian does not put them on the PATH.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	list, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", fmt.Errorf("there is no %s on the PATH nor below /usr/lib/postgresql: run scripts/deps test, or install the package postgresql", name)
	}
	major := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // a name that is no number comes first
		return n
	}
	return slices.MaxFunc(list, func(a, b string) int { return major(a) - major(b) }), nil
}

// Restart starts the server where it does not run, and waits until it answers.
func (c *Cluster) Restart() error {
	postgres, err := program("postgres")
	if err != nil {
		return err
	}
	for end := time.Now().Add(Patience); ; time.Sleep(50 * time.Millisecond) {
		err := c.run(postgres, end)
		// The processes of a server that was killed may not have ended yet.
		if err == nil || time.Now().After(end) || !strings.Contains(err.Error(), "shared memory block") {
			return err
		}
	}
}

// run starts the server and waits for an answer, or for its end.
func (c *Cluster) run(postgres string, end time.Time) error {
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := c.command(postgres, "-D", "data")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	c.ended = ended
	go func() { ended <- cmd.Wait() }() // ends with the server, at the latest by the guard
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.ping()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-ended:
			c.ended = nil
			text, _ := os.ReadFile(filepath.Join(c.dir, "log")) // the server's end is the error
			return fmt.Errorf("%s ended: %w\n%s", postgres, err, text)
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server does not answer: %w", err)
		}
	}
}

func (c *Cluster) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Kill sends the server a signal and waits for its end: SIGKILL is a crash,
// SIGQUIT a hurried stop, SIGINT one in order.
func (c *Cluster) Kill(how syscall.Signal) error {
	pid, err := c.pid()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, how); err != nil {
		return fmt.Errorf("signal the server: %w", err)
	}
	select {
	case <-c.ended:
		c.ended = nil
		return nil
	case <-time.After(Patience):
		return fmt.Errorf("the server, process %d, does not end", pid)
	}
}

// Freeze stops all processes of the server where they are, or lets them go on.
func (c *Cluster) Freeze(frozen bool) error {
	pid, err := c.pid()
	if err != nil {
		return err
	}
	how := syscall.SIGCONT
	if frozen {
		how = syscall.SIGSTOP
	}
	if err := syscall.Kill(pid, how); err != nil { // now it starts no others
		return fmt.Errorf("signal the server: %w", err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	for _, word := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		if err := syscall.Kill(child, how); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal the server's process %d: %w", child, err)
		}
	}
	return nil
}

// pid is that of the server's first process.
func (c *Cluster) pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}
