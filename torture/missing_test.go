package torture

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ctxfs/torture/disk"
	"ctxfs/torture/trace"
)

// passOn are the functions that only make a sync for another one.
var passOn = []string{"localdir.fsync", "localdir.writeOut", "localdir.async", "localdir.(*handle).with", "localdir.(*Store).syncDir"}

// place names the code that makes a sync: the function behind those that pass
// it on, with the offset of the call in it, and for a Sync of a file the room
// that asked for it.
func place(c trace.Call) string {
	at := ""
	for f := range strings.SplitSeq(c.Site, " < ") {
		name, _, _ := strings.Cut(f, "+")
		switch {
		case slices.Contains(passOn, name):
		case at == "":
			at = f
		case strings.HasPrefix(name, "localdir."):
		case strings.Contains(at, ").syncObject+") || strings.Contains(at, "(*file).Sync+"):
			return at + " for " + name
		default:
			return at
		}
	}
	return at
}

// named is what a table calls the place of c: the function, and what it syncs.
func named(c trace.Call) string {
	name, rest, _ := strings.Cut(place(c), "+")
	if _, room, asked := strings.Cut(rest, " for "); asked {
		name += " for " + room
	}
	return name + " (" + cmp.Or(c.Path, ".") + ")"
}

// unjournaled is left to fsck by a crash: there nothing is asked but what was
// acknowledged.
var unjournaled = disk.Ext4Bare

// everyPlace takes out each sync by the code that makes it.
func everyPlace(t *testing.T) {
	seen := map[string][]string{} // file systems on which the absence of a sync does harm, by place
	hidden := map[string][]string{}
	for _, f := range []disk.Format{disk.Ext4, disk.Ext4Default, disk.XFS, unjournaled} {
		content := formatted(t, f)
		where, names := map[string][]string{}, map[string]string{} // operations, and the name, of each place
		for _, o := range onDisk {
			for _, c := range record(t, f, content, []string{o}, untouched).calls {
				if p := place(c); c.Syncs() && !slices.Contains(where[p], o) {
					where[p] = append(where[p], o)
					if names[p] == "" {
						names[p] = named(c)
					}
				}
			}
		}
		for _, p := range slices.Sorted(maps.Keys(where)) {
			err := harm(t, f, content, where[p], func(c trace.Call) bool { return place(c) == p })
			t.Logf("%s without %s: %v", f.Name, names[p], err)
			if err != nil {
				seen[names[p]] = append(seen[names[p]], f.Name)
			} else {
				hidden[names[p]] = append(hidden[names[p]], f.Name)
			}
		}
	}
	frugalPlaces(t, func(c trace.Call, err error) {
		t.Logf("%s without %s: %.300v", frugalName, named(c), err)
		if err != nil {
			seen[named(c)] = append(seen[named(c)], frugalName)
		} else {
			hidden[named(c)] = append(hidden[named(c)], frugalName)
		}
	})
	all := maps.Clone(seen)
	maps.Copy(all, hidden)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(seen[name]) == 0 {
			t.Errorf("without the sync of %s no harm is seen on any file system", name)
		}
		note := "harm is seen"
		if len(hidden[name]) > 0 {
			note = "another sync makes up for it on " + strings.Join(hidden[name], ", ")
		}
		table.add("power: without the sync of "+name, len(seen[name])+len(hidden[name]), len(seen[name]), note)
	}
}

// unharmed is how many states of the disk are tried, besides those right after
// an acknowledgement, before a missing sync counts as not seen.
const unharmed = 100

// harm does operations without some of their syncs, which only say that they
// happened, and returns what the first bad state of the disk shows.
func harm(t *testing.T, f disk.Format, content []byte, operations []string, without func(trace.Call) bool) error {
	t.Helper()
	faked := 0
	r := record(t, f, content, operations, func(_ string, c trace.Call) trace.Action {
		fake := c.Syncs() && without(c)
		if fake {
			faked++
		}
		return trace.Action{Fake: fake}
	})
	if faked == 0 {
		t.Fatalf("%q make no such sync on %s: %v", operations, f.Name, r.calls)
	}
	_, _, bad := r.tryAll(t, disk.Flushed(r.records), true)
	if len(bad) == 0 && f.Name != unjournaled.Name {
		rng := rand.New(rand.NewPCG(*seed, 0))
		_, _, bad = r.tryAll(t, sample(disk.States(r.records, 1, rng), unharmed, rng), true)
	}
	if len(bad) == 0 {
		return nil
	}
	return bad[0]
}

// TestAMissingSyncIsFound takes out what a commit cannot do without, one kind
// of sync at a time.
func TestAMissingSyncIsFound(t *testing.T) {
	needRoot(t)
	for _, c := range []struct {
		format     disk.Format
		kind, path string
	}{
		{disk.Ext4, "sync_file_range", ".ctxfs/staging/*"}, {disk.Ext4, "fsync", "alice"},
		{disk.XFS, "sync_file_range", ".ctxfs/staging/*"}, {disk.XFS, "fsync", "alice"},
		{disk.Ext4Bare, "fsync", ".ctxfs/staging/*"}, {disk.Ext4Bare, "fsync", "alice"},
	} {
		t.Run(c.format.Name+" without "+c.kind, func(t *testing.T) {
			if !inKernel(t, c.format) {
				return
			}
			content := formatted(t, c.format)
			r := record(t, c.format, content, []string{"create"}, untouched)
			tried, _, bad := r.tryAll(t, disk.Flushed(r.records), false)
			for _, err := range bad {
				t.Errorf("with every sync: %v", err)
			}
			held := 0
			if harm(t, c.format, content, []string{"create"}, func(s trace.Call) bool { return s.Kind == c.kind && s.Path == c.path }) == nil {
				t.Error("no harm is seen")
			} else {
				held = 1
			}
			table.add("power: create on "+c.format.Name+" without "+c.kind+" "+c.path, 1, held, fmt.Sprintf("and %d states with it", tried))
		})
	}
	if *full {
		t.Run("by place", everyPlace)
	}
}
