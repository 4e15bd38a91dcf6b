package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/torture/trace"
)

// A process of deliverName delivers what is in the outbox, and adds more.
const (
	deliverName = "deliver"
	saidAdded   = "added" // with the key
)

func init() { specials[deliverName] = deliver }

// outboxes are the memories of which something waits to be delivered.
var outboxes = []string{"left", "right"}

// waiting fills the outboxes.
var waiting = operation{name: backendName, before: func(w *world) error {
	for n := range 2 {
		for _, m := range outboxes {
			if err := addKeyed(w, m, n); err != nil {
				return err
			}
		}
	}
	return nil
}}

func keyOf(memory string, n int) string { return fmt.Sprintf("%s-%d", memory, n) }

func addKeyed(w *world, memory string, n int) error {
	_, err := w.mems.AddEntry(ctx, memory, fmt.Appendf(nil, `{"rawEntry":"text","id":%q}`, keyOf(memory, n)))
	return err
}

func deliver(dir string) error {
	if err := trace.Filter(); err != nil {
		return err
	}
	w, err := openWorld(dir, deliverName)
	if err != nil {
		fmt.Println(saidFailed, told(err))
		return nil
	}
	for n := 2; n < 4; n++ {
		for _, m := range outboxes {
			if err := addKeyed(w, m, n); err != nil {
				fmt.Println(saidFailed, told(err))
				continue
			}
			fmt.Println(saidAdded, keyOf(m, n))
		}
	}
	for _, m := range outboxes {
		if err := w.mems.AwaitDelivery(ctx, m); err != nil {
			return err
		}
	}
	fmt.Println(saidDone)
	if err := w.close(); err != nil {
		fmt.Println(saidFailed, told(err))
	}
	return nil
}

func TestABackendInAnyMoodGetsEachEntryInOrder(t *testing.T) {
	needRoot(t)
	for _, on := range []ground{onExt4, onTmpfs} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			calls := rehearseDelivery(t, on)
			killed, failed, held, worked := 0, 0, 0, 0
			for i, call := range calls {
				for j, after := range []bool{false, true} {
					if !*full && (2*i+j)%delivered != 0 {
						continue
					}
					killed++
					kill := func(c trace.Call) trace.Action { return trace.Action{Kill: c.Is(call), After: after} }
					if err := delivery(t, on, kill, false); err != nil {
						t.Errorf("killed %s %s: %v", when(after), call, err)
					} else {
						held++
					}
				}
				for j, errno := range faults {
					if !*full && (3*i+j)%delivered != 0 {
						continue
					}
					failed++
					if err := delivery(t, on, failsOnce(call, errno), true); err != nil {
						t.Errorf("%s fails with %s: %v", call, unix.ErrnoName(errno), err)
					} else {
						worked++
					}
				}
			}
			table.add("kill: deliver to a backend on "+string(on), killed, held, fmt.Sprintf("%d system calls, before and after each", len(calls)))
			table.add("fault: deliver to a backend on "+string(on), failed, worked, fmt.Sprintf("%d system calls; ENOSPC, EIO, EDQUOT", len(calls)))
		})
	}
}

// delivered is everyNth for deliveries, which take their time.
const delivered = 19

func failsOnce(at trace.Call, errno unix.Errno) func(trace.Call) trace.Action {
	hit := false
	return func(c trace.Call) trace.Action {
		if !c.Is(at) || hit {
			return trace.Action{}
		}
		hit = true
		return trace.Action{Fail: errno}
	}
}

func rehearseDelivery(t *testing.T, on ground) []trace.Call {
	t.Helper()
	dir := prepare(t, waiting, on)
	b := newMoody(t)
	r := run(t, deliverName, dir, func(trace.Call) trace.Action { return trace.Action{} }, backendEnv+"="+b.URL)
	if _, ok := said(r.Stdout, saidDone); !ok || r.Exit != 0 || strings.Count(r.Stdout, saidAdded) != 4 {
		t.Fatalf("left alone, it ends with exit code %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	if err := arrived(dir, b, r.Stdout, false); err != nil {
		t.Fatalf("left alone: %v", err)
	}
	return r.Calls
}

// delivery lets a process deliver and do something else to it, delivers the
// rest, and says what is wrong with what came.
func delivery(t *testing.T, on ground, plan func(trace.Call) trace.Action, fails bool) error {
	t.Helper()
	dir := prepare(t, waiting, on)
	b := newMoody(t)
	r := run(t, deliverName, dir, plan, backendEnv+"="+b.URL)
	if !fails && !r.Killed {
		return fmt.Errorf("it did not come to this call; it made %v\n%s", r.Calls, r.Stderr)
	}
	if !r.Killed && r.Exit != 0 {
		return fmt.Errorf("exit code %d: %s%s", r.Exit, r.Stdout, r.Stderr)
	}
	w, err := openWorldFor(dir, "look", b.URL)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, m := range outboxes {
		err = errors.Join(err, w.mems.AwaitDelivery(within, m))
	}
	err = errors.Join(err, w.wrong(dir), w.close(), leftovers(dir))
	return errors.Join(err, arrived(dir, b, r.Stdout, fails), os.RemoveAll(filepath.Dir(dir)))
}

// arrived says what is wrong with what came to the backend, beside what is in
// the closed store in dir and what was acknowledged.
func arrived(dir string, b *moody, stdout string, failed bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	errs := slices.Clone(b.wrong)
	for _, m := range outboxes {
		stored, err := keysIn(filepath.Join(dir, "memories", m, "entries.jsonl"))
		if err != nil {
			return err
		}
		taken := b.taken[m]
		for n := range 4 {
			key := keyOf(m, n)
			if _, added := said(stdout, saidAdded+" "+key); (n < 2 || added) && !slices.Contains(taken, key) {
				errs = append(errs, fmt.Errorf("%s was acknowledged, and has not come", key))
			}
		}
		if failed { // the line of an entry that was refused may be there
			stored = slices.DeleteFunc(stored, func(key string) bool { return !slices.Contains(taken, key) })
		}
		if !slices.Equal(stored, taken) {
			errs = append(errs, fmt.Errorf("memory %s has %q, and %q came", m, stored, taken))
		}
		left, err := os.ReadDir(filepath.Join(dir, string(outboxDir), m))
		if err != nil || len(left) > 0 {
			errs = append(errs, fmt.Errorf("in the outbox of %s there is %v, %v", m, left, err))
		}
	}
	return errors.Join(errs...)
}

// keysIn are the keys of the entries in a file, each once.
func keysIn(file string) (keys []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var e struct{ ID string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, err
		}
		if !slices.Contains(keys, e.ID) {
			keys = append(keys, e.ID)
		}
	}
	return keys, nil
}
