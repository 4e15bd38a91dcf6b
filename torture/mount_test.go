package torture

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/fusefs"
	"ctxfs/room"
	"ctxfs/torture/trace"
	"ctxfs/variables"
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
	fs, err := w.mount(os.Getenv(pointEnv), w.store)
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

// mount mounts the rooms, which are open on store.
func (w *world) mount(point string, store backing.Store) (*fusefs.FS, error) {
	return fusefs.Mount(fusefs.Options{Mountpoint: point, StoreName: "torture", Agent: "alice",
		Root: w.entries, Rooms: map[string]room.Room{"vars": w.vars.Room(), "results": w.results.Room(),
			"memories": w.mems, "invocations": w.history.Room()}, Journal: w.journal, Store: store, Log: slog.New(slog.DiscardHandler), Version: "torture", README: []byte("torture\n")})
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

// syncs writes with flags, and asks for it to be on disk before it closes.
func syncs(text string, flags int) func(string) error {
	return func(file string) error {
		f, err := os.OpenFile(file, os.O_WRONLY|flags, 0o644)
		if err != nil {
			return err
		}
		if _, err = f.WriteString(text); err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}
}

const invocation = `{"tool_name":"second","params":null,"result":null,"id":"7e1c6d7e-3c52-5d8b-a3c5-3c1d43a4b5c6"}` + "\n"

var onMount = []mounted{
	{operation: operation{name: "create", before: inAlice(nothing)},
		file: path("create"), program: writes(entry("New", "Text.", ""))},
	{operation: operation{name: "overwrite", before: saves("over", "Old", "Old text.", "")},
		file: path("over"), program: writes(entry("New", "New text.\n"+long, ""))},
	{operation: operation{name: "set variable", before: sets("k", "old", variables.SetOptions{}), slow: true},
		file: "vars/global/k", program: writes("new")},
	{operation: operation{name: "put context", before: puts("m", "old"), parts: true, queued: true, slow: true},
		file: "memories/m/context.md", program: syncs("new", os.O_TRUNC)},
	{operation: operation{name: "invocation", before: invokes("first"), adds: true, slow: true},
		file: "invocations/context.jsonl", program: syncs(invocation, os.O_APPEND)},
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
			tried, held, point := 0, 0, 0
			for _, call := range s.calls {
				for _, after := range []bool{false, true} {
					if point++; m.slow && !*full && point%everyNth != 0 {
						continue
					}
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
	err = errors.Join(err, s.judge(got, acked), w.wrong(dir), w.close(), strays(dir, s.oldFiles, s.newFiles), leftovers(dir))
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
					if !*full && (i%len(faults) != j || m.slow && i%3 != 0) {
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
	var first, stale, second error
	r := use(t, dir, func(c trace.Call) trace.Action {
		if !c.Is(at) || hit {
			return trace.Action{}
		}
		hit = true
		return trace.Action{Fail: errno}
	}, func(mount string) {
		file := filepath.Join(mount, m.file)
		before, err := os.ReadFile(file)
		was := err == nil
		if first = m.program(file); first != nil {
			stale = m.shows(file, string(before), was)
			second = m.program(file)
		}
	})
	if !hit {
		return fmt.Errorf("the daemon did not come to this call; it made %v", r.Calls)
	}
	if first != nil && !errors.Is(first, errno) {
		return fmt.Errorf("the program got %v", first)
	}
	if stale != nil {
		return stale
	}
	if m.adds && first != nil && at.Syncs() { // it stays failed until the store is opened again
		if !errors.Is(second, errno) {
			return fmt.Errorf("the second try after a failed sync: %v", second)
		}
	} else if second != nil {
		return fmt.Errorf("the second try: %w", second)
	}
	w, err := openWorld(dir, "look")
	if err != nil {
		return err
	}
	got, err := w.snapshot()
	if err == nil {
		if s.adds && first != nil {
			s.once(got)
		}
		err = got.mixes(s.new, s.new)
	}
	err = errors.Join(err, w.wrong(dir), w.close())
	return errors.Join(err, os.RemoveAll(filepath.Dir(dir)))
}

// shows says what a reader sees in the place of the old content, by name and
// from the kernel's pages, after a program's failure.
func (m mounted) shows(file, old string, was bool) error {
	if m.queued || m.adds {
		return nil // the new content may be seen before it is on disk
	}
	text, err := os.ReadFile(file)
	switch {
	case was && (err != nil || string(text) != old):
		return fmt.Errorf("after the failure a reader gets %.100q, %v", text, err)
	case !was && len(text) > 0:
		return fmt.Errorf("after the failure there is %.100q", text)
	}
	return nil
}
