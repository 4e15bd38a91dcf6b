package fusefs_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"ctxfs/entries"
	"ctxfs/fusefs"
	"ctxfs/room"
)

// late is a room of whose changes the mount hears nothing, and in which the
// answer to one Stat of path waits.
type late struct {
	*entries.Entries
	path         string
	armed        atomic.Bool
	looked, tell chan struct{}
}

func (l *late) Watch(ctx context.Context, _ func(path string, deep bool)) error {
	<-ctx.Done()
	return nil
}

func (l *late) Stat(ctx context.Context, path string) (room.Info, error) {
	info, err := l.Entries.Stat(ctx, path)
	if path == l.path && l.armed.CompareAndSwap(true, false) {
		close(l.looked)
		<-l.tell
	}
	return info, err
}

// Who looked before a commit and is answered after it must not make the kernel
// keep what it found: nothing would tell it afterwards.
func TestAnAnswerThatACommitOvertookIsNotKept(t *testing.T) {
	l := &late{path: "a/" + name1, looked: make(chan struct{}), tell: make(chan struct{})}
	m := mount(t, func(o *fusefs.Options) {
		l.Entries = o.Root.(*entries.Entries)
		o.Root = l
	})
	m.write(l.path, entry("old\n"))
	w, err := os.OpenFile(m.path(l.path), os.O_WRONLY|os.O_TRUNC, 0)
	m.must(err)
	_, err = w.WriteString(entry("new\n"))
	m.must(err)
	l.armed.Store(true)
	stat := make(chan error, 1)
	go func() {
		_, err := os.Stat(m.path(l.path))
		stat <- err
	}()
	<-l.looked
	m.must(w.Close())
	m.must(until(func() bool {
		info, err := l.Entries.Stat(context.Background(), l.path)
		return err == nil && info.Size > int64(len(entry("new\n")))
	}))
	close(l.tell)
	m.must(<-stat)
	if got := m.read(l.path); !strings.Contains(got, "new\n") {
		t.Errorf("the version before is read: %q", got)
	}
}

// An answer to a LOOKUP can be written after an announcement that was made later,
// and so every announcement is made once more. The mount hears nothing of the
// store here: nobody else announces anything.
func TestAnAnnouncementIsMadeOnceMore(t *testing.T) {
	l := &late{}
	m := mount(t, func(o *fusefs.Options) {
		l.Entries = o.Root.(*entries.Entries)
		o.Root = l
	})
	m.write("a/"+name1, entry("old\n"))
	_, err := os.Stat(m.path("a", name1))
	m.must(err)
	noticed := m.noticed()
	w, err := os.OpenFile(m.path("a", name1), os.O_WRONLY, 0) // takes the name's node
	m.must(err)
	defer w.Close()
	m.must(until(func() bool { return noticed(2) }))
}
