package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/torture/trace"
)

// faults are what a disk answers that is full, broken, or used up.
var faults = []unix.Errno{unix.ENOSPC, unix.EIO, unix.EDQUOT}

func TestAnErrorOfTheDiskReachesTheCallerAndHarmsNothing(t *testing.T) {
	needRoot(t)
	everywhere(t, func(t *testing.T, o operation, on ground) {
		s := rehearse(t, o, on)
		tried, held := 0, 0
		for i, call := range s.calls {
			for j, errno := range faults {
				if !*full && (i%len(faults) != j || o.slow && i%3 != 0) {
					continue
				}
				tried++
				if err := s.failed(t, call, errno); err != nil {
					t.Errorf("%s fails with %s: %v", call, unix.ErrnoName(errno), err)
					continue
				}
				held++
			}
		}
		table.add("fault: "+o.name+" on "+string(on), tried, held, fmt.Sprintf("%d system calls; ENOSPC, EIO, EDQUOT", len(s.calls)))
	})
}

// failed does the operation with one call failing, and again when the disk
// works, and says what is wrong.
func (s stage) failed(t *testing.T, at trace.Call, errno unix.Errno) error {
	t.Helper()
	dir := prepare(t, s.operation, s.on)
	hit := false
	r := run(t, s.name, dir, func(c trace.Call) trace.Action {
		if !c.Is(at) || hit {
			return trace.Action{}
		}
		hit = true
		return trace.Action{Fail: errno}
	}, againEnv+"=1")
	if !hit {
		return fmt.Errorf("it did not come to this call; it made %v\n%s", r.Calls, r.Stderr)
	}
	why, failed := said(r.Stdout, saidFailed)
	_, done := said(r.Stdout, saidDone)
	var err error
	switch {
	case done == failed:
		err = fmt.Errorf("exit code %d, and neither done nor failed: %s%s", r.Exit, r.Stdout, r.Stderr)
	case failed && !s.opens:
		err = s.judgeFailure(why, at, errno, r.Stdout)
	case failed && !strings.HasPrefix(why, unix.ErrnoName(errno)):
		err = fmt.Errorf("it says %s", why)
	}
	w, openErr := openWorld(dir, "look")
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	got, lookErr := w.snapshot()
	if lookErr == nil {
		lookErr = s.judgeEnd(got, why)
	}
	err = errors.Join(err, lookErr, w.wrong(dir), w.close())
	if err != nil {
		return fmt.Errorf("%w\nit said: %.300s", err, why)
	}
	return os.RemoveAll(filepath.Dir(dir))
}

// judgeFailure says what is wrong with how the running process took it: what
// it told, what was there then, and whether the next try worked.
func (s stage) judgeFailure(why string, at trace.Call, errno unix.Errno, stdout string) error {
	if !strings.HasPrefix(why, unix.ErrnoName(errno)+" ") {
		return fmt.Errorf("the caller got %s", why)
	}
	text, ok := said(stdout, saidState)
	if !ok {
		return fmt.Errorf("it does not say what is there: %s", stdout)
	}
	var got snapshot
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return err
	}
	maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasSuffix(name, ".rej") })
	old := s.old
	if uncertain(why) || s.queued || s.adds || s.pieces {
		old = s.new
	}
	if err := got.mixes(s.old, old); err != nil {
		return fmt.Errorf("after the failure: %w", err)
	}
	if s.pieces {
		if err := got.lost(s.old); err != nil {
			return fmt.Errorf("after the failure: %w", err)
		}
	}
	again, ok := said(stdout, saidAgain)
	if s.adds && at.Syncs() && !strings.HasPrefix(at.Path, string(backing.Own)) {
		// A log that failed to sync takes no acknowledged line until the
		// store is opened again: what was appended may be lost.
		if !strings.HasPrefix(again, unix.ErrnoName(errno)+" ") {
			return fmt.Errorf("the second try says %q after a failed sync", again)
		}
		return nil
	}
	if !ok || again != "" {
		return fmt.Errorf("the second try says %q", again)
	}
	return nil
}

// uncertain reports that the caller was told that nobody knows.
func uncertain(why string) bool {
	words := strings.Fields(why)
	return len(words) > 1 && words[1] == "unknown"
}

// judgeEnd says what is wrong with the store in the end: the first try
// succeeded, or the second one.
func (s stage) judgeEnd(got snapshot, why string) error {
	if s.adds && why != "" {
		s.once(got)
	}
	delete(got, s.stays)
	return got.mixes(s.new, s.new)
}

// once takes the line of the first try out of got, which may be there beside
// that of the second: the disk failed when the line was to be synced. In the
// outbox both have the one key, by which the backend knows them as the same.
func (s stage) once(got snapshot) {
	waiting := slices.Collect(maps.Values(s.new))
	for name, text := range got {
		if strings.HasPrefix(name, "outbox ") && s.new[name] == "" && slices.Contains(waiting, text) {
			delete(got, name)
		}
		if last := fmt.Sprintf("invocation %d", s.invocations()); strings.HasPrefix(name, "invocation ") && s.new[name] == "" && text == s.new[last] {
			delete(got, name)
		}
		lines := strings.SplitAfter(s.new[name], "\n")
		if strings.HasSuffix(name, ".jsonl") && len(lines) > 1 && text == s.new[name]+lines[len(lines)-2] {
			got[name] = s.new[name]
		}
	}
}

func (s stage) invocations() (n int) {
	for name := range s.new {
		if strings.HasPrefix(name, "invocation ") {
			n++
		}
	}
	return n
}
