package fusefs_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ctxfs/backing"
	"ctxfs/entries"
	"ctxfs/fusefs"
	"ctxfs/room"
)

// forgetful is a room that keeps nothing of what is overwritten. Its Rename
// returns after somebody has opened a file, or was told that a version is gone.
type forgetful struct {
	room.Room
	renamed, opened func()
	wait            <-chan struct{}
}

func (r forgetful) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	info, err := r.Stat(ctx, path)
	if err == nil && rev != "" && rev != info.Revision {
		err = backing.ErrNotFound
	}
	if errors.Is(err, backing.ErrNotFound) {
		r.opened()
	}
	if err != nil {
		return nil, err
	}
	return r.Room.Read(ctx, path, rev)
}

func (r forgetful) Rename(ctx context.Context, c room.Caller, from, to string, flags uint) error {
	err := r.Room.Rename(ctx, c, from, to, flags)
	r.renamed()
	<-r.wait
	return err
}

// The kernel has some pages of the old version, and still leads there.
func TestOneThatOpensAVersionThatIsNoLongerKeptGetsOneWhole(t *testing.T) {
	renamed, opened := make(chan struct{}), make(chan struct{})
	signal := sync.OnceFunc(func() { close(opened) })
	m := mount(t, func(o *fusefs.Options) {
		o.Root = &forgetful{o.Root, func() { close(renamed) }, signal, opened}
	})
	path := "a/" + name1
	m.write(path, entry(strings.Repeat("old line\n", 300_000)))
	m.write("a/new.tmp", entry(strings.Repeat("new line\n", 300_000)))
	r, err := os.Open(m.path(path))
	m.must(err)
	_, err = io.ReadFull(r, make([]byte, 10))
	m.must(err)
	m.must(r.Close())

	var rename error
	var done sync.WaitGroup
	done.Go(func() { rename = os.Rename(m.path("a/new.tmp"), m.path(path)) })
	<-renamed
	r, err = os.Open(m.path(path))
	signal()
	done.Wait()
	m.must(errors.Join(err, rename))
	b, err := io.ReadAll(r)
	m.must(errors.Join(err, r.Close()))
	if old, next := strings.Count(string(b), "old line\n"), strings.Count(string(b), "new line\n"); old+next != 300_000 || old*next != 0 {
		t.Errorf("it has %d lines of the old version and %d of the new one", old, next)
	}
}

// slowly is a room with something between the look at who has an entry open and
// its commit.
type slowly struct {
	*entries.Entries
	between atomic.Pointer[func()]
}

type slowDraft struct {
	room.Draft
	r *slowly
}

func (r *slowly) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	f, info, err := r.Entries.Write(ctx, c, path, o)
	if d, ok := f.(room.Draft); ok {
		f = &slowDraft{d, r}
	}
	return f, info, err
}

func (d *slowDraft) Commit(ctx context.Context) error {
	if between := d.r.between.Swap(nil); between != nil {
		(*between)()
	}
	return d.Draft.Commit(ctx)
}

// An amendment replaces its writer's own commit, which no room keeps then.
func TestAVersionThatItsWriterAmendsIsReadToItsEnd(t *testing.T) {
	s := &slowly{}
	m := mount(t, func(o *fusefs.Options) {
		s.Entries = o.Root.(*entries.Entries)
		o.Root = s
	})
	path := m.path("a", name1)
	first := entry("first\n")
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	m.must(err)
	defer w.Close()
	_, err = w.WriteString(first)
	m.must(errors.Join(err, w.Sync()))
	opened := make(chan *os.File, 1)
	open := func() {
		r, err := os.Open(path)
		if err != nil {
			t.Error(err)
		}
		opened <- r
	}
	s.between.Store(&open)
	_, err = w.WriteString("and more\n")
	m.must(errors.Join(err, w.Sync()))
	r := <-opened
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != first {
		t.Errorf("%q, %v", b, err)
	}
}
