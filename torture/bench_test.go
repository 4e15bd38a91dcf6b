package torture

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/torture/disk"
)

// tryAll tries states, two at a time, and returns what is wrong with them;
// only the first one, if that is enough. lost are those that the file system
// itself does not survive, because a block is torn: they tell nothing.
func (r recording) tryAll(t *testing.T, all []disk.State, first bool) (tried, lost int, bad []error) {
	t.Helper()
	workers := 2
	if r.format.Repaired() {
		workers = 1 // a program that is being started would hold the other's files
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range workers {
		part := all[len(all)*n/workers : len(all)*(n+1)/workers]
		wg.Go(func() {
			bench, err := newBench(r)
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
				if s.Torn() && errors.Is(err, disk.ErrMount) {
					tried--
					lost++
				} else if err != nil {
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
	return tried, lost, bad
}

// bench is a disk in memory, to try states on.
type bench struct {
	format  disk.Format
	builder *disk.Builder
	file    *os.File
	memory  []byte // the file's
	dir     string // to mount at
}

func newBench(r recording) (*bench, error) {
	fd, err := unix.MemfdCreate("disk", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a disk in memory: %w", err)
	}
	b := &bench{format: r.format, builder: disk.NewBuilder(r.before, r.records), file: os.NewFile(uintptr(fd), "disk")}
	if err = b.file.Truncate(int64(len(r.before))); err == nil {
		b.memory, err = unix.Mmap(fd, 0, len(r.before), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
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
	if err := b.format.Mount(loop, b.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Unmount(b.dir, 0)) }()
	return judgeDisk(b.dir, snaps[s.Marks-1], snaps[min(s.Marks, len(snaps)-1)], "entry lost+found/")
}

// judgeDisk opens the store in dir: it was acknowledged to be old, and may be
// new in any part, but for what has a name with one of the prefixes. What goes
// by the new is in an archive or in its place.
func judgeDisk(dir string, old, new snapshot, but ...string) error {
	w, err := openWorld(filepath.Clean(dir), "look")
	if err != nil {
		return err
	}
	got, err := w.snapshot()
	if err == nil {
		err = errors.Join(got.without(but).mixes(old.without(but), new.without(but)), got.lost(old.going(new)))
	}
	return errors.Join(err, w.wrong(dir), w.close(), leftovers(dir))
}

// without is s but for what has a name with one of the prefixes.
func (s snapshot) without(prefixes []string) snapshot {
	some := maps.Clone(s)
	maps.DeleteFunc(some, func(name, _ string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
	return some
}
