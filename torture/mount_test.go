package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/torture/trace"
)

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
		if err := m.program(mount); err != nil {
			t.Errorf("left alone: %v", err)
		}
	})
	s.calls = r.Calls
	s.newFiles, err = files(dir)
	must(t, err)
	s.new = look(t, dir)
	if !m.session && s.new.mixes(s.old, s.old) == nil {
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
		func(mount string) { acked = m.program(mount) == nil })
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
					if !*full && (i%len(faults) != j || m.slow && i%everyNth != 0) {
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
		before, was := m.reads(mount)
		if first = m.program(mount); first != nil {
			stale = m.shows(mount, before, was)
			second = m.program(mount)
		}
		if second == nil && m.file != "" {
			if now, _ := m.reads(mount); now == before {
				second = fmt.Errorf("it says that it is done, and a reader gets %.100q", now)
			}
		}
	})
	if !hit {
		return fmt.Errorf("the daemon did not come to this call; it made %v", r.Calls)
	}
	// What gc says comes as text.
	if first != nil && !errors.Is(first, errno) && !strings.HasSuffix(first.Error(), ": "+errno.Error()) {
		return fmt.Errorf("the program got %w", first)
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
		delete(got, s.stays)
		err = got.mixes(s.new, s.new)
	}
	err = errors.Join(err, w.wrong(dir), w.close())
	return errors.Join(err, os.RemoveAll(filepath.Dir(dir)))
}

// reads is what a reader gets of the file.
func (m mounted) reads(mount string) (text string, there bool) {
	all, err := os.ReadFile(filepath.Join(mount, m.file))
	return string(all), err == nil
}

// shows says what a reader sees in the place of the old content, by name and
// from the kernel's pages, after a program's failure.
func (m mounted) shows(mount, old string, was bool) error {
	if m.queued || m.adds || m.file == "" {
		return nil // the new content may be seen before it is on disk
	}
	text, there := m.reads(mount)
	switch {
	case was && (!there || text != old):
		return fmt.Errorf("after the failure a reader gets %.100q", text)
	case !was && len(text) > 0:
		return fmt.Errorf("after the failure there is %.100q", text)
	}
	return nil
}
