package fusefs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/entries"
	"ctxfs/fusefs"
	"ctxfs/room"
)

// gate is a room in which making a directory waits, and whose commits return
// after the mount has begun to announce them.
type gate struct {
	*entries.Entries
	making, make chan struct{}
	watching     chan struct{} // closed when announce is there
	announce     func(path string, deep bool)
	announcing   atomic.Bool
	begun        func() bool // the kernel is being told
}

func (g *gate) MakeDir(ctx context.Context, c room.Caller, path string, mode fs.FileMode) (room.Info, error) {
	if strings.HasSuffix(path, "/slow") {
		close(g.making)
		<-g.make
	}
	return g.Entries.MakeDir(ctx, c, path, mode)
}

func (g *gate) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	g.announce = changed
	close(g.watching)
	<-ctx.Done()
	return nil
}

func (g *gate) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	f, info, err := g.Entries.Write(ctx, c, path, o)
	if d, ok := f.(room.Draft); ok {
		f = gateDraft{d, g, path}
	}
	return f, info, err
}

type gateDraft struct {
	room.Draft
	g    *gate
	path string
}

func (d gateDraft) Commit(ctx context.Context) error {
	if err := d.Draft.Commit(ctx); err != nil || !d.g.announcing.Load() {
		return err
	}
	<-d.g.watching
	d.g.announce(d.path, false)
	return until(d.g.begun)
}

// until waits for something that must happen.
func until(happened func() bool) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !happened(); <-tick.C {
		if time.Now().After(deadline) {
			return errors.New("nothing happens")
		}
	}
	return nil
}

// noticed returns a function that reports whether the mount has told the kernel
// of n changes from now on, or is just doing so.
func (m mounted) noticed() func(n int) bool {
	sent := func() int {
		var stats struct{ Notices int }
		b, err := os.ReadFile(m.path(".ctxfs/stats"))
		if err = errors.Join(err, json.Unmarshal(b, &stats)); err != nil {
			m.Error(err)
		}
		return stats.Notices
	}
	before := sent()
	return func(n int) bool { return sent() >= before+n }
}

// While the kernel holds a directory for a mkdir(2), it does not take the
// announcement that a commit in it gets from the store. A fsync(2) of that
// commit must not return before it has.
func TestNobodyReadsTheOldVersionAfterAnFsync(t *testing.T) {
	g := &gate{making: make(chan struct{}), make: make(chan struct{}), watching: make(chan struct{})}
	m := mount(t, func(o *fusefs.Options) {
		g.Entries = o.Root.(*entries.Entries)
		o.Root = g
	})
	path := "a/" + name1
	m.write(path, entry("old\n"))
	w, err := os.OpenFile(m.path(path), os.O_WRONLY|os.O_TRUNC, 0)
	m.must(err)
	defer w.Close()
	_, err = w.WriteString(entry("new\n"))
	m.must(err)
	if got := m.read(path); got != entry("old\n") { // and the kernel keeps the name
		t.Fatalf("before the commit it is %q", got)
	}
	made := make(chan error, 1)
	go func() { made <- os.Mkdir(m.path("a/slow"), 0o755) }()
	<-g.making
	noticed := m.noticed()
	g.begun = func() bool { return noticed(1) }
	g.announcing.Store(true)
	var got []byte
	synced := make(chan struct{})
	go func() {
		defer close(synced)
		if err = w.Sync(); err == nil {
			got, err = os.ReadFile(m.path(path))
		}
	}()
	// Either the fsync tells the kernel too, and waits with the mkdir, or it
	// has returned.
	waited := until(func() bool {
		select {
		case <-synced:
			return true
		default:
			return noticed(2)
		}
	})
	close(g.make)
	<-synced
	m.must(errors.Join(waited, err, <-made))
	if !strings.Contains(string(got), "new\n") {
		t.Errorf("after the fsync it is %q", got)
	}
}

// A refused rename is answered while the kernel holds the directory, so the
// .rej cannot be announced to it before.
func TestTheRejOfARefusedRenameIsThereAtOnce(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("old\n"))
	for range 20 {
		if _, err := os.Lstat(m.path("a", name1+".rej")); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("before the refusal stat says %v", err)
		}
		m.write("a/save.tmp", "no entry\n")
		m.wantErrno("rename", os.Rename(m.path("a/save.tmp"), m.path("a", name1)), unix.EINVAL)
		if _, err := os.Lstat(m.path("a", name1+".rej")); err != nil {
			t.Fatal(err)
		}
		m.must(os.Remove(m.path("a", name1+".rej")))
	}
}

// The kernel has no path for a directory whose name it was told to drop, and
// getcwd(2) fails there. Making a directory, and files in it, is announced by
// the store.
func TestADirectoryInUseKeepsItsPath(t *testing.T) {
	m := mount(t)
	for i := range 20 {
		path := m.path("a", fmt.Sprintf("d%d", i))
		m.must(os.Mkdir(path, 0o755))
		d, err := os.Open(path)
		m.must(err)
		for k := range 20 {
			m.write(fmt.Sprintf("a/d%d/f%d", i, k), "x")
			now, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", d.Fd()))
			if err != nil || now != path {
				t.Errorf("%s, after %d files in it: %s, %v", path, k, now, err)
				break
			}
		}
		m.must(d.Close())
	}
}
