package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/torture/disk"
	"ctxfs/torture/trace"
)

// onDisk are the operations that a loss of power may meet: those that promise
// to be on disk.
var onDisk = []string{"create", "overwrite", "overwrite again", "supersede", "rename onto", "session", "set variable",
	"set variable of a new type", "promote variable", "invocation", "put context", "add entry"}

func TestALossOfPowerLosesNothingAcknowledgedAndTearsNothing(t *testing.T) {
	needRoot(t)
	wanted := 300
	if *full {
		wanted = 10000
	}
	if *states > 0 {
		wanted = *states
	}
	r := record(t, formatted(t), onDisk, func(trace.Call) trace.Action { return trace.Action{} })
	rng := rand.New(rand.NewPCG(*seed, 0))
	all := disk.States(r.records, 1, rng)
	for n := 2; len(all) < wanted; n++ {
		all = disk.States(r.records, n, rng)
	}
	tried, bad := r.tryAll(t, sample(all, wanted, rng), false)
	for _, err := range bad {
		t.Error(err)
	}
	table.add("power: all operations on ext4", tried, tried-len(bad),
		fmt.Sprintf("%d writes and flushes, %d acknowledgements, seed %d", len(r.records), len(r.snaps), *seed))
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

// needed are the syncs without which a loss of power on ext4 does harm, by
// operation. Where others are missing here, another sync beside or after them
// commits the same journal; see docs/reliability.md.
var needed = map[string][]string{
	"create":          {"fsync .ctxfs/staging/*", "fsync alice #2"},
	"overwrite":       {"fsync .ctxfs/staging/* #2", "fsync alice #3"},
	"overwrite again": {"fsync .ctxfs/staging/* #3", "fsync alice #4"},
	"supersede":       {"fsync .ctxfs/log/supersede", "fsync .ctxfs/staging/* #2", "fsync .ctxfs/staging/* #3"},
	"rename onto":     {"fsync alice/onto.tmp", "fsync .ctxfs/staging/* #2", "fsync alice #5"},
	"set variable":    {"fsync .ctxfs/staging/* #2", "fsync vars/global #3"},
	"set variable of a new type": {"fsync .ctxfs/vars/global.jsonl #2", "fsync .ctxfs/staging/* #2",
		"fsync vars/global #3"},
	"promote variable": {"fsync .ctxfs/vars/agent:a.jsonl", "fsync .ctxfs/staging/*", "fsync .ctxfs/vars/global.jsonl"},
	"invocation":       {"fsync invocations/context.jsonl", "fsync invocations/context.jsonl #2"},
	"put context":      {"fsync memories/m/context.json.tmp #2", "fsync memories/m/context.md.tmp #2"},
	"add entry":        {"fsync memories/n/entries.jsonl", "fsync memories/n/entries.jsonl #2"},
}

func TestAMissingSyncIsFound(t *testing.T) {
	needRoot(t)
	content := formatted(t)
	for _, o := range operations {
		if len(needed[o.name]) == 0 || o.slow && !*full {
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			r := record(t, content, []string{o.name}, func(trace.Call) trace.Action { return trace.Action{} })
			var found, unseen []string
			for _, call := range r.calls {
				if !call.Syncs() || !*full && !slices.Contains(needed[o.name], call.String()) {
					continue
				}
				if harmful(t, content, o.name, call) {
					found = append(found, call.String())
				} else {
					unseen = append(unseen, call.String())
				}
			}
			held := 0
			for _, call := range needed[o.name] {
				if slices.Contains(found, call) {
					held++
				} else {
					t.Errorf("without %q no harm is seen; the syncs are %q and %q", call, found, unseen)
				}
			}
			table.add("power: "+o.name+" without a sync", len(needed[o.name]), held,
				fmt.Sprintf("the harm is found; so with %d other syncs, and %d are made up for by another one",
					len(found)-held, len(unseen)))
		})
	}
}

// unharmed is how many states of the disk are tried before a missing sync
// counts as not seen.
const unharmed = 200

// harmful does the operation with one sync that only says that it happened,
// and reports whether a state of the disk shows it.
func harmful(t *testing.T, content []byte, name string, without trace.Call) bool {
	t.Helper()
	r := record(t, content, []string{name}, func(c trace.Call) trace.Action {
		return trace.Action{Fake: c == without}
	})
	rng := rand.New(rand.NewPCG(*seed, 0))
	_, bad := r.tryAll(t, sample(disk.States(r.records, 1, rng), unharmed, rng), true)
	return len(bad) > 0
}

// tryAll tries states, two at a time, and returns what is wrong with them;
// only the first one, if that is enough.
func (r recording) tryAll(t *testing.T, all []disk.State, first bool) (tried int, bad []error) {
	t.Helper()
	const workers = 2
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range workers {
		part := all[len(all)*n/workers : len(all)*(n+1)/workers]
		wg.Go(func() {
			bench, err := newBench(r.before, r.records)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				bad = append(bad, err)
				return
			}
			for _, s := range part {
				err := bench.try(s, r.snaps)
				mu.Lock()
				tried++
				if err != nil {
					bad = append(bad, fmt.Errorf("%s: %w", s, err))
				}
				enough := first && len(bad) > 0
				mu.Unlock()
				if enough {
					break
				}
			}
			if err := bench.close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return tried, bad
}

// bench is a disk in memory, to try states on.
type bench struct {
	builder *disk.Builder
	file    *os.File
	memory  []byte // the file's
	dir     string // to mount at
}

func newBench(content []byte, records []disk.Record) (*bench, error) {
	fd, err := unix.MemfdCreate("disk", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a disk in memory: %w", err)
	}
	b := &bench{builder: disk.NewBuilder(content, records), file: os.NewFile(uintptr(fd), "disk")}
	if err = b.file.Truncate(int64(len(content))); err == nil {
		b.memory, err = unix.Mmap(fd, 0, len(content), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		b.dir, err = os.MkdirTemp("", "torture")
	}
	if err != nil {
		return nil, fmt.Errorf("make a disk in memory: %w", err)
	}
	return b, nil
}

func (b *bench) close() error {
	return errors.Join(unix.Munmap(b.memory), b.file.Close(), os.Remove(b.dir))
}

// try mounts a state and says what is wrong with the store there.
func (b *bench) try(s disk.State, snaps []snapshot) (err error) {
	b.builder.Build(b.memory, s)
	loop, err := disk.Attach(b.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loop.Detach()) }()
	if err := loop.MountExt4(b.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Unmount(b.dir, 0)) }()
	return judgeDisk(b.dir, snaps[s.Marks-1], snaps[min(s.Marks, len(snaps)-1)])
}

// judgeDisk opens the store in dir: it was acknowledged to be old, and may be
// new in any part.
func judgeDisk(dir string, old, new snapshot) error {
	w, err := openWorld(filepath.Clean(dir), "look")
	if err != nil {
		return err
	}
	got, err := w.snapshot()
	if err == nil {
		delete(got, "entry lost+found/")
		err = got.mixes(old, new)
	}
	return errors.Join(err, w.wrong(dir), w.close())
}
