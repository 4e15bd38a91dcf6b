package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/torture/trace"
)

// stage is an operation with what the store is before and after it.
type stage struct {
	operation
	on                 ground
	calls              []trace.Call
	old, new           snapshot
	oldFiles, newFiles map[string]bool
}

// prepare makes a store in a new directory, as it is before the operation.
func prepare(t *testing.T, o operation, on ground) (dir string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(on.dir(t))
	must(t, err)
	dir = filepath.Join(top, "store")
	w, err := openWorld(dir, "before "+o.name)
	must(t, err)
	must(t, errors.Join(o.before(w), w.close()))
	if o.debris != nil {
		must(t, o.debris(dir))
	}
	return dir
}

// rehearse lets the operation happen, to know its system calls and its end.
func rehearse(t *testing.T, o operation, on ground) stage {
	t.Helper()
	s := stage{operation: o, on: on}
	dir := prepare(t, o, on)
	var err error
	s.oldFiles, err = files(dir)
	must(t, err)
	if !o.opens { // to look is to open
		s.old = look(t, dir)
	}
	r := run(t, o.name, dir, func(trace.Call) trace.Action { return trace.Action{} })
	if _, ok := said(r.Stdout, saidDone); !ok || r.Exit != 0 {
		t.Fatalf("left alone, it ends with exit code %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	s.calls = r.Calls
	s.newFiles, err = files(dir)
	must(t, err)
	s.new = look(t, dir)
	if o.opens {
		s.old = s.new
	}
	if len(s.calls) == 0 {
		t.Fatal("it makes no system call on the store: nothing is tested")
	}
	return s
}

// look opens the store, which repairs it, and returns what is there.
func look(t *testing.T, dir string) snapshot {
	t.Helper()
	w, err := openWorld(dir, "look")
	must(t, err)
	s, err := w.snapshot()
	must(t, errors.Join(err, w.wrong(dir), w.close()))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAKillAtAnySystemCallLeavesTheOldOrTheNew(t *testing.T) {
	needRoot(t)
	everywhere(t, func(t *testing.T, o operation, on ground) {
		s := rehearse(t, o, on)
		tried, held := 0, 0
		point := 0
		for _, call := range s.calls {
			for _, after := range []bool{false, true} {
				if point++; o.slow && !*full && point%everyNth != 0 {
					continue
				}
				tried++
				if err := s.killed(t, call, after); err != nil {
					t.Errorf("killed %s %s: %v", when(after), call, err)
					continue
				}
				held++
			}
		}
		table.add("kill: "+o.name+" on "+string(on), tried, held, fmt.Sprintf("%d system calls, before and after each", len(s.calls)))
	})
}

func TestAnOverwriteInPlaceIsFound(t *testing.T) {
	needRoot(t)
	s := rehearse(t, inPlace, onTmpfs)
	killed, failed := 0, 0
	for _, call := range s.calls {
		if s.killed(t, call, true) != nil {
			killed++
		}
		if s.failed(t, call, faults[0]) != nil {
			failed++
		}
	}
	if killed == 0 || failed == 0 {
		t.Errorf("%d kills and %d errors were found to do harm, of %v", killed, failed, s.calls)
	}
}

// everyNth point of a slow operation is one of the bounded run. It is odd, so
// that kills before and after a call take turns.
const everyNth = 7

func when(after bool) string {
	if after {
		return "after"
	}
	return "before"
}

// killed does the operation and kills it at the call, opens the store again,
// and says what is wrong with it.
func (s stage) killed(t *testing.T, at trace.Call, after bool) error {
	t.Helper()
	dir := prepare(t, s.operation, s.on)
	r := run(t, s.name, dir, func(c trace.Call) trace.Action {
		return trace.Action{Kill: c.Is(at), After: after}
	})
	if !r.Killed {
		return fmt.Errorf("it did not come to this call; it made %v\n%s", r.Calls, r.Stderr)
	}
	_, acked := said(r.Stdout, saidDone)
	w, err := openWorld(dir, s.name)
	if err != nil {
		return err
	}
	got, err := w.snapshot()
	err = errors.Join(err, s.judge(got, acked), w.wrong(dir))
	if err == nil && !s.opens && (!s.adds || got.mixes(s.old, s.old) == nil) {
		err = s.repeat(w)
	}
	err = errors.Join(err, w.close(), strays(dir, s.oldFiles, s.newFiles), leftovers(dir))
	return errors.Join(err, os.RemoveAll(filepath.Dir(dir)))
}

// judge compares what is there with what was before and should be after.
func (s stage) judge(got snapshot, acked bool) error {
	switch {
	case acked:
		if err := got.mixes(s.new, s.new); err != nil {
			return fmt.Errorf("it was acknowledged: %w", err)
		}
	case s.pieces:
		return errors.Join(got.mixes(s.old, s.new), got.lost(s.old))
	case s.parts:
		return got.mixes(s.old, s.new)
	case got.mixes(s.old, s.old) != nil:
		return got.mixes(s.new, s.new)
	}
	return nil
}

// repeat does the operation again, as who was not told how it went: it must
// come to what once would have come to.
func (s stage) repeat(w *world) error {
	if err := s.do(w); err != nil {
		return fmt.Errorf("done again: %w", err)
	}
	got, err := w.snapshot()
	delete(got, s.stays)
	if err == nil && !strings.HasPrefix(s.name, "spill") { // a session's variables are there until its end
		err = got.mixes(s.new, s.new)
	}
	if err != nil {
		return fmt.Errorf("done again: %w", err)
	}
	return nil
}
