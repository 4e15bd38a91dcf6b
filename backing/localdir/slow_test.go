package localdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ctxfs/backing"
)

// stalled is a disk of which the first sync waits until it is let go.
type stalled struct {
	once    sync.Once
	reached chan struct{}
	open    chan struct{}
}

// stall makes the next sync of s wait.
func stall(s *Store) *stalled {
	d := &stalled{reached: make(chan struct{}), open: make(chan struct{})}
	s.fsync, s.writeOut = d.wait(s.fsync), d.wait(s.writeOut)
	return d
}

func (d *stalled) wait(real func(int) error) func(int) error {
	return func(fd int) error {
		first := false
		d.once.Do(func() { first = true })
		if first {
			close(d.reached)
			<-d.open
		}
		return real(fd)
	}
}

// answers fails the test where do waits.
func answers(t *testing.T, what string, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("%s waits for another one's disk", what)
	}
}

// TestASyncThatStallsHoldsUpNoOtherKey lets one write wait for the disk, and
// does everything else beside it.
func TestASyncThatStallsHoldsUpNoOtherKey(t *testing.T) {
	ctx := context.Background()
	put := func(s *Store, key backing.Key) error {
		_, err := s.Put(ctx, key, strings.NewReader("new"), backing.PutOptions{KeepVersion: true})
		return err
	}
	for _, slow := range []struct {
		what string
		do   func(s *Store) error
	}{
		{"put of a new object", func(s *Store) error { return put(s, "d/slow-new") }},
		{"put over an object", func(s *Store) error { return put(s, "d/slow") }},
		{"removal", func(s *Store) error { return s.Remove(ctx, "d/slow", "") }},
		{"rename", func(s *Store) error { return s.Rename(ctx, "d/slow", "d/moved", 0) }},
		{"sync of appends", func(s *Store) error { return s.Sync(ctx, "d/slow") }},
		{"making of a directory", func(s *Store) error { _, err := s.MakeDir(ctx, "d/slow-dir", 0o755); return err }},
		{"removal of a directory", func(s *Store) error { return s.RemoveDir(ctx, "d/empty") }},
	} {
		t.Run(slow.what, func(t *testing.T) {
			s := newStore(t)
			for _, dir := range []backing.Key{"d", "d/empty", "e"} {
				_, err := s.MakeDir(ctx, dir, 0o755)
				must(t, err)
			}
			for _, key := range []backing.Key{"d/slow", "d/other", "d/gone", "d/from"} {
				putString(t, s, key, "old", backing.PutOptions{})
			}
			d := stall(s)
			ended := make(chan error, 1)
			go func() { ended <- slow.do(s) }()
			select {
			case <-d.reached:
			case err := <-ended:
				t.Fatalf("it syncs nothing: %v", err)
			}
			beside(t, s, put)
			close(d.open)
			must(t, <-ended)
			must(t, s.Close())
		})
	}
}

// manyKeys are so many that locks shared by several keys would show.
const manyKeys = 5000

// beside does what a write of another key must not hold up.
func beside(t *testing.T, s *Store, put func(*Store, backing.Key) error) {
	t.Helper()
	ctx := context.Background()
	answers(t, "stat", func() error { _, err := s.Stat(ctx, "d/other"); return err })
	answers(t, "list", func() error { _, err := s.List(ctx, "d", "", 100); return err })
	answers(t, "read", func() error {
		c, err := s.Open(ctx, "d/other", "")
		if err != nil {
			return err
		}
		_, err = c.ReadAt(make([]byte, 3), 0)
		return errors.Join(err, c.Close())
	})
	answers(t, "put in the same directory", func() error { return put(s, "d/other") })
	answers(t, "put elsewhere", func() error { return put(s, "e/new") })
	answers(t, "versions", func() error { _, err := s.Versions(ctx, "d/other"); return err })
	answers(t, "removal", func() error { return s.Remove(ctx, "d/gone", "") })
	answers(t, "rename", func() error { return s.Rename(ctx, "d/from", "d/to", 0) })
	answers(t, "directory", func() error { _, err := s.MakeDir(ctx, "e/dir", 0o755); return err })
	answers(t, "ordinary file", func() error {
		f, err := s.OpenFile(ctx, "e/plain", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	})
	answers(t, "statfs", func() error { _, err := s.StatFS(ctx); return err })
	answers(t, "append", func() error {
		_, err := s.Append(ctx, "e/log", []byte("x"))
		return errors.Join(err, s.Sync(ctx, "e/log"))
	})
	answers(t, "the locks of many keys", func() error {
		for i := range manyKeys {
			s.keys.lock(backing.Key(fmt.Sprint("e/", i)))()
		}
		return nil
	})
}
