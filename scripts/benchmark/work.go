package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	pollEvery = 2 * time.Millisecond
	endLimit  = 30 * time.Second // from unmounting to the end of a daemon

	noticeLimit = 2 * time.Second // until the kernel has told it
)

// work is the directory that holds everything this run makes: stores,
// mountpoints, logs. Its name is unique, and each daemon has it in its command
// line, so that all of it can be found again.
type work struct {
	dir      string
	programs string // directory of the built programs
}

func newWork(parent, programs string) (*work, error) {
	programs, err := filepath.Abs(programs)
	if err != nil {
		return nil, fmt.Errorf("find the programs: %w", err)
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return nil, fmt.Errorf("find %s: %w", parent, err)
	}
	dir, err := os.MkdirTemp(parent, "ctxfs-bench-")
	if err != nil {
		return nil, fmt.Errorf("make the working directory: %w", err)
	}
	return &work{dir, programs}, nil
}

func (w *work) path(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

func (w *work) program(name string) string { return filepath.Join(w.programs, name) }

// server is a file system that serves in a process of its own.
type server struct {
	point string
	*process
}

// serve starts argv, which mounts at point in the foreground, and returns when
// the mount answers.
func (w *work) serve(ctx context.Context, point string, argv ...string) (*server, error) {
	if err := os.MkdirAll(point, 0o755); err != nil {
		return nil, fmt.Errorf("make a mountpoint: %w", err)
	}
	log, err := os.OpenFile(point+".log", os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open a daemon's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	s := &server{point, p}
	what := "mount with " + filepath.Base(argv[0])
	if err := within(ctx, shortLimit, what, s.serving); err != nil {
		text, rerr := os.ReadFile(log.Name())
		return nil, errors.Join(err, rerr, fmt.Errorf("its log: %s", text), s.stop())
	}
	return s, nil
}

// serving returns when the mount answers or its daemon has ended.
func (s *server) serving() error {
	for {
		ok, err := isFUSE(s.point)
		if ok || err != nil {
			return err
		}
		select {
		case <-s.ended:
			return fmt.Errorf("it ended: %v", s.ProcessState)
		case <-time.After(pollEvery):
		}
	}
}

// stop unmounts and returns when the daemon has ended.
func (s *server) stop() error {
	points, err := mountsBelow(filepath.Dir(s.point))
	for _, point := range points {
		if point == s.point {
			err = errors.Join(err, detach(point))
		}
	}
	select {
	case <-s.ended:
		return err
	case <-time.After(noticeLimit):
		// Another mount namespace may have a copy of the mount. Or it has
		// just ended.
		_ = s.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-s.ended:
	case <-time.After(endLimit):
		s.kill()
		err = errors.Join(err, fmt.Errorf("%s was still running %v after it was unmounted", filepath.Base(s.Path), endLimit))
	}
	return err
}

// remove unmounts what is mounted in the working directory, ends the daemons,
// and removes it. It is the one way out, after an interrupt too.
func (w *work) remove() error {
	points, err := mountsBelow(w.dir)
	for _, point := range points {
		err = errors.Join(err, detach(point))
	}
	w.end()
	// Never remove through a mount: that would be a write to what lies behind.
	left, lerr := mountsBelow(w.dir)
	if lerr != nil || len(left) > 0 {
		return errors.Join(err, lerr, fmt.Errorf("%s stays: mounted are %v", w.dir, left))
	}
	return errors.Join(err, removeAll(w.dir))
}

// end waits for the processes of this run, and kills those that stay.
func (w *work) end() {
	for since := time.Now(); len(processesNaming(w.dir)) > 0; time.Sleep(50 * time.Millisecond) {
		late := time.Since(since)
		if late > endLimit/3+killLimit {
			return
		}
		if late > endLimit/3 {
			for _, pid := range processesNaming(w.dir) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
			}
		}
	}
}

// removeAll is os.RemoveAll for an ordinary user too, who cannot remove from a
// directory without write permission, as those of old versions may be.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // what this misses, RemoveAll names
		}
		return nil
	})
	return os.RemoveAll(dir)
}
