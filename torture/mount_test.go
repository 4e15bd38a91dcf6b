package torture

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/fusefs"
	"ctxfs/torture/trace"
)

// A process of mountName serves the store at the directory in pointEnv until
// it is unmounted.
const (
	mountName = "serve a mount"
	pointEnv  = "CTXFS_TORTURE_MOUNTPOINT"
)

func init() { specials[mountName] = serveMount }

func serveMount(dir string) error {
	w, err := openWorld(dir, mountName)
	if err != nil {
		return err
	}
	fs, err := fusefs.Mount(fusefs.Options{Mountpoint: os.Getenv(pointEnv), StoreName: dir, Agent: "alice",
		Root: w.entries, Journal: w.journal, Store: w.store, Log: slog.New(slog.DiscardHandler), Version: "torture"})
	if err != nil {
		return errors.Join(err, w.close())
	}
	if err := trace.Filter(); err != nil {
		return errors.Join(err, fs.Detach(), w.close())
	}
	fmt.Println(saidDone)
	fs.Wait()
	return w.close()
}

// mounted is an operation through a mount, and what a program does for it.
type mounted struct {
	operation
	file    string // that is written
	program func(file string) error
}

func writes(text string) func(string) error {
	return func(file string) error { return os.WriteFile(file, []byte(text), 0o644) }
}

var onMount = []mounted{
	{operation: operation{name: "create", before: inAlice(nothing)},
		file: path("create"), program: writes(entry("New", "Text.", ""))},
	{operation: operation{name: "overwrite", before: saves("over", "Old", "Old text.", "")},
		file: path("over"), program: writes(entry("New", "New text.\n"+long, ""))},
}

// use serves the store in dir, lets user work on the mount, unmounts it, and
// returns what became of the daemon. plan may kill it, or fail its calls.
func use(t *testing.T, dir string, plan func(trace.Call) trace.Action, user func(mount string)) trace.Result {
	t.Helper()
	mount := filepath.Join(filepath.Dir(dir), "mnt")
	must(t, os.MkdirAll(mount, 0o755))
	p := program(t, mountName, dir, pointEnv+"="+mount)
	ended := make(chan struct{})
	used := false
	p.Said = func(line string) {
		if line == saidDone && !used {
			used = true
			go func() {
				defer close(ended)
				// A child of this process, between its fork and its exec, would
				// hold the file too, and this close would not be the last one.
				syscall.ForkLock.RLock()
				defer syscall.ForkLock.RUnlock()
				user(mount)
				_ = unix.Unmount(mount, unix.MNT_DETACH) // the daemon ends; it is looked at below
			}()
		}
	}
	r, err := trace.Run(p, plan)
	if err != nil || !used {
		t.Fatalf("the daemon: exit code %d, %v\n%s%s", r.Exit, err, r.Stdout, r.Stderr)
	}
	<-ended
	return r
}

// rehearseMounted is rehearse, through a mount.
func rehearseMounted(t *testing.T, m mounted) stage {
	t.Helper()
	s := stage{operation: m.operation, on: onExt4}
	dir := prepare(t, m.operation, s.on)
	s.old = look(t, dir)
	var err error
	s.oldFiles, err = files(dir)
	must(t, err)
	r := use(t, dir, func(trace.Call) trace.Action { return trace.Action{} }, func(mount string) {
		if err := m.program(filepath.Join(mount, m.file)); err != nil {
			t.Errorf("left alone: %v", err)
		}
	})
	s.calls = r.Calls
	s.newFiles, err = files(dir)
	must(t, err)
	s.new = look(t, dir)
	if s.new.mixes(s.old, s.old) == nil {
		t.Fatalf("nothing has changed; the daemon: %s%s", r.Stdout, r.Stderr)
	}
	return s
}

func TestAKillOfAMountsDaemonLeavesTheOldOrTheNew(t *testing.T) {
	needRoot(t)
	for _, m := range onMount {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := rehearseMounted(t, m)
			tried, held := 0, 0
			for _, call := range s.calls {
				for _, after := range []bool{false, true} {
					tried++
					if err := s.killedMounted(t, m, call, after); err != nil {
						t.Errorf("killed %s %s: %v", when(after), call, err)
						continue
					}
					held++
				}
			}
			table.add("kill, mounted: "+m.name, tried, held, fmt.Sprintf("%d system calls, before and after each", len(s.calls)))
		})
	}
}

func (s stage) killedMounted(t *testing.T, m mounted, at trace.Call, after bool) error {
	t.Helper()
	dir := prepare(t, m.operation, s.on)
	acked := false
	r := use(t, dir, func(c trace.Call) trace.Action { return trace.Action{Kill: c.Is(at), After: after} },
		func(mount string) { acked = m.program(filepath.Join(mount, m.file)) == nil })
	if !r.Killed {
		return fmt.Errorf("the daemon did not come to this call; it made %v", r.Calls)
	}
	w, err := openWorld(dir, "look")
	if err != nil {
		return err
	}
	got, err := w.snapshot()
	err = errors.Join(err, s.judge(got, acked), w.wrong(dir), w.close(), strays(dir, s.oldFiles, s.newFiles))
	return errors.Join(err, os.RemoveAll(filepath.Dir(dir)))
}

func TestAnErrorOfTheDiskReachesAProgramThroughTheMount(t *testing.T) {
	needRoot(t)
	for _, m := range onMount {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := rehearseMounted(t, m)
			tried, held := 0, 0
			for i, call := range s.calls {
				for j, errno := range faults {
					if !*full && i%len(faults) != j {
						continue
					}
					tried++
					if err := s.failedMounted(t, m, call, errno); err != nil {
						t.Errorf("%s fails with %s: %v", call, unix.ErrnoName(errno), err)
						continue
					}
					held++
				}
			}
			table.add("fault, mounted: "+m.name, tried, held, fmt.Sprintf("%d system calls; ENOSPC, EIO, EDQUOT", len(s.calls)))
		})
	}
}

// failedMounted lets a program write while one call fails, and again.
func (s stage) failedMounted(t *testing.T, m mounted, at trace.Call, errno unix.Errno) error {
	t.Helper()
	dir := prepare(t, m.operation, s.on)
	hit := false
	var first, second error
	r := use(t, dir, func(c trace.Call) trace.Action {
		if !c.Is(at) || hit {
			return trace.Action{}
		}
		hit = true
		return trace.Action{Fail: errno}
	}, func(mount string) {
		file := filepath.Join(mount, m.file)
		if first = m.program(file); first != nil {
			second = m.program(file)
		}
	})
	if !hit {
		return fmt.Errorf("the daemon did not come to this call; it made %v", r.Calls)
	}
	if first != nil && !errors.Is(first, errno) {
		return fmt.Errorf("the program got %v", first)
	}
	if second != nil {
		return fmt.Errorf("the second try: %w", second)
	}
	w, err := openWorld(dir, "look")
	if err != nil {
		return err
	}
	got, err := w.snapshot()
	if err == nil {
		err = got.mixes(s.new, s.new)
	}
	err = errors.Join(err, w.wrong(dir), w.close())
	return errors.Join(err, os.RemoveAll(filepath.Dir(dir)))
}

func TestAFullDiskRefusesLosesNothingAndWorksAgain(t *testing.T) {
	needRoot(t)
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, unix.Mount("torture", top, "tmpfs", 0, "size=2m"))
	defer func() { must(t, unix.Unmount(top, unix.MNT_DETACH)) }()
	dir := filepath.Join(top, "store")
	old, next := entry("Old", "Old text.", ""), entry("New", "New text.\n"+strings.Repeat(long, 20), "")
	use(t, dir, func(trace.Call) trace.Action { return trace.Action{} }, func(mount string) {
		if err := fullDisk(top, mount, old, next); err != nil {
			t.Error(err)
		}
	})
	s := look(t, dir)
	if lines := strings.Count(s["entry "+path("full")], "\n- "); lines != 1 {
		t.Errorf("%d lines in the changelog after one overwrite: %v", lines, s)
	}
	table.add("full disk: a tmpfs of 2 MiB, mounted", 1, 1, "ENOSPC, the old version stays, then it works again")
}

func fullDisk(top, mount, old, next string) error {
	file, another, filler := filepath.Join(mount, path("full")), filepath.Join(mount, path("another")), filepath.Join(top, "filler")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755), writes(old)(file)); err != nil {
		return err
	}
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("the disk does not become full: %v", err)
	}
	for range 3 {
		if err := writes(next)(file); !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("an overwrite on a full disk: %v", err)
		}
	}
	if err := writes(next)(another); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("a new entry on a full disk: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != old {
		return fmt.Errorf("on a full disk the old version is %q, %v", text, err)
	}
	if _, err := os.ReadDir(filepath.Dir(file)); err != nil {
		return fmt.Errorf("list a directory on a full disk: %w", err)
	}
	if err := errors.Join(os.Remove(filler), writes(next)(file), writes(next)(another)); err != nil {
		return fmt.Errorf("when there is space again: %w", err)
	}
	text, err := os.ReadFile(file)
	if err == nil && !strings.HasPrefix(string(text), next) {
		err = fmt.Errorf("the new version is %.200q", text)
	}
	return err
}
