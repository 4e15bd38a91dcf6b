package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/torture/trace"
)

const (
	frugalName = "a disk that keeps only what was synced"
	markName   = ".mark" // in the store: each write of it is an acknowledgement
)

// keepOnly does operations on such a disk, without the syncs of some places,
// and returns what is wrong with it after each sync and each acknowledgement.
// calls are those from the first acknowledgement on: until then the store is
// being made.
func keepOnly(t *testing.T, operations []string, without func(trace.Call) bool) (calls []trace.Call, states int, bad []error) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	defer os.RemoveAll(top)
	at := func(name string) string { return filepath.Join(top, name) }
	must(t, errors.Join(os.Mkdir(at("store"), 0o755), os.WriteFile(at("store/"+markName), nil, 0o600)))
	k := newFrugal(at("store"))
	var acked []int // acknowledgements before each state; below 0 where they are not new
	marks, synced := 0, false
	state := func(acks int) error {
		acked = append(acked, acks)
		return k.restore(at(fmt.Sprint(len(acked) - 1)))
	}
	r := run(t, workName, at("store"), func(c trace.Call) trace.Action {
		marked := c.Path == markName
		if marked {
			marks++
		}
		switch {
		case marked:
			k.err = errors.Join(k.err, state(marks))
		case synced && marks > 0:
			k.err = errors.Join(k.err, state(-marks))
		}
		if marks > 0 {
			k.err = errors.Join(k.err, k.eachEarly(func() error { return state(-marks) }))
		}
		synced = false
		switch {
		case c.Syncs() && without(c):
			return trace.Action{Fake: true}
		case c.Kind == "fsync" || c.Kind == "fdatasync":
			k.sync(c.File)
			synced = true
		case c.Kind == "fchmod" || c.Kind == "fchown":
			k.changing(c.File)
		}
		return trace.Action{}
	}, workEnv+"="+strings.Join(operations, ","), markEnv+"="+at("store/"+markName), snapsEnv+"="+at("snaps"), earlyEnv+"=1")
	if _, ok := said(r.Stdout, saidDone); !ok {
		t.Fatalf("the work ends with exit code %d: %s%s", r.Exit, r.Stdout, r.Stderr)
	}
	must(t, k.err)
	snaps := readSnaps(t, at("snaps"))
	if len(snaps) != marks {
		t.Fatalf("%d acknowledgements are told of, and %d seen", len(snaps), marks)
	}
	for i, n := range acked {
		var but []string
		if n < 0 {
			// In between a variable's type belongs to a file by its inode,
			// which a copy cannot have.
			n, but = -n, []string{"variable "}
		}
		if err := judgeDisk(at(fmt.Sprint(i)), snaps[n-1], snaps[min(n, marks-1)], but...); err != nil {
			bad = append(bad, fmt.Errorf("in state %d, after acknowledgement %d: %w", i, n, err))
		}
	}
	first := slices.IndexFunc(r.Calls, func(c trace.Call) bool { return c.Path == markName })
	return r.Calls[first:], len(acked), bad
}

func TestADiskThatKeepsOnlyWhatWasSyncedKeepsAllThatWasAcknowledged(t *testing.T) {
	needRoot(t)
	calls, states, bad := keepOnly(t, onDisk, func(trace.Call) bool { return false })
	for _, err := range bad {
		t.Error(err)
	}
	table.add("power: all operations on "+frugalName, states, states-len(bad), fmt.Sprintf("%d system calls", len(calls)))
}

// frugalPlaces takes out each sync by the code that makes it, and tells of each
// whether harm is seen.
func frugalPlaces(t *testing.T, told func(c trace.Call, harm error)) {
	calls, _, _ := keepOnly(t, onDisk, func(trace.Call) bool { return false })
	seen := map[string]bool{}
	for _, c := range calls {
		p := place(c)
		if !c.Syncs() || seen[p] {
			continue
		}
		seen[p] = true
		_, _, bad := keepOnly(t, onDisk, func(c trace.Call) bool { return place(c) == p })
		told(c, errors.Join(bad...))
	}
}
