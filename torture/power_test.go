package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/torture/disk"
	"ctxfs/torture/trace"
)

// onDisk are the operations that a loss of power may meet: those that promise
// to be on disk.
var onDisk = []string{"create", "overwrite", "overwrite again", "supersede", "rename onto", "session", "set variable",
	"set variable of a new type", "promote variable", "invocation", "put context", "add entry", "add entry " + backendName, "gc"}

// shares are the disks, and how many in a hundred of the states each has.
var shares = []struct {
	name    string
	format  disk.Format
	plan    meddler
	percent int
}{
	{"", disk.Ext4, untouched, 30}, {"", disk.XFS, untouched, 30},
	{", beside another program", disk.Ext4, crowded, 10}, {", beside another program", disk.XFS, crowded, 10},
	{"", disk.Ext4Default, untouched, 10}, {"", disk.Ext4Fast, untouched, 10},
}

func TestALossOfPowerLosesNothingAcknowledgedAndTearsNothing(t *testing.T) {
	needRoot(t)
	wanted := 300
	if *full {
		wanted = 10000
	}
	if *states > 0 {
		wanted = *states
	}
	for _, share := range shares {
		name := share.format.Name + share.name
		t.Run(name, func(t *testing.T) {
			if !inKernel(t, share.format) {
				return
			}
			r := record(t, share.format, formatted(t, share.format), onDisk, share.plan)
			rng := rand.New(rand.NewPCG(*seed, 0))
			n := wanted * share.percent / 100
			all := disk.States(r.records, 1, rng)
			for subsets := 2; len(all) < n; subsets++ {
				all = disk.States(r.records, subsets, rng)
			}
			tried, lost, bad := r.tryAll(t, sample(all, n, rng), false)
			for _, err := range bad {
				t.Error(err)
			}
			if lost > n/20 {
				t.Errorf("of %d states %d cannot be mounted: something else than a torn block is wrong", n, lost)
			}
			table.add("power: all operations on "+name, tried, tried-len(bad),
				fmt.Sprintf("%d writes and flushes, %d acknowledgements, seed %d; %d more with a torn block are not mounted", len(r.records), len(r.snaps), *seed, lost))
		})
	}
}

func untouched(string, trace.Call) trace.Action { return trace.Action{} }

// crowded lets another program sync a file of its own before each rename: the
// journal has then written everything that was changed before it, and what
// syncs afterwards must sync the rename itself.
func crowded(dir string, c trace.Call) trace.Action {
	if !strings.HasPrefix(c.Kind, "rename") {
		return trace.Action{}
	}
	other, err := os.Create(filepath.Join(dir, ".other"))
	if err == nil {
		_, err = other.WriteString(c.String())
	}
	if err == nil {
		err = errors.Join(other.Sync(), other.Close())
	}
	if err != nil {
		return trace.Action{Kill: true} // which fails the test
	}
	return trace.Action{}
}

// inKernel reports whether the kernel can mount f. The full run needs it.
func inKernel(t *testing.T, f disk.Format) bool {
	t.Helper()
	if f.Known() {
		return true
	}
	if *full {
		t.Fatalf("this kernel has no %s", f.Name)
	}
	t.Logf("not tried: this kernel has no %s", f.Name)
	return false
}

// sample takes n of all, in their order.
func sample(all []disk.State, n int, rng *rand.Rand) []disk.State {
	var some []disk.State
	for i, s := range all {
		if rng.IntN(len(all)-i) < n-len(some) {
			some = append(some, s)
		}
	}
	return some
}
