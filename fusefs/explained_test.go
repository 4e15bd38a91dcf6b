package fusefs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/entries"
	"ctxfs/fusefs"
	"ctxfs/room"
)

// failing is a room whose store fails.
type failing struct {
	*entries.Entries
	with atomic.Pointer[error]
}

func (s *failing) Stat(ctx context.Context, path string) (room.Info, error) {
	if err := s.with.Load(); err != nil {
		return room.Info{}, *err
	}
	return s.Entries.Stat(ctx, path)
}

func TestWhyTheStoreFailedIsToldInErrors(t *testing.T) {
	s := &failing{}
	m := mount(t, func(o *fusefs.Options) {
		s.Entries = o.Root.(*entries.Entries)
		o.Root = s
	})
	for errno, err := range map[unix.Errno]error{
		unix.ETIMEDOUT: fmt.Errorf("ask db.example.com: %w", context.DeadlineExceeded),
		unix.EIO:       errors.New("nobody can say whether it happened"),
		unix.EDQUOT:    fmt.Errorf("stage: %w", unix.EDQUOT),
	} {
		before := strings.Count(m.read(".ctxfs/errors"), "\n")
		s.with.Store(&err)
		for range 20 {
			if _, err := os.Stat(m.path("a", name1)); !errors.Is(err, errno) {
				t.Fatal(err)
			}
		}
		s.with.Store(nil)
		told := m.read(".ctxfs/errors")
		if strings.Count(told, "\n") != before+1 || !strings.Contains(told, unix.ErrnoName(errno)) || !strings.Contains(told, err.Error()) {
			t.Errorf("told of %v: %s", err, told)
		}
	}
}

// full is a room whose store has no room for what is saved.
type full struct{ *entries.Entries }

type fullDraft struct{ room.Draft }

func (s full) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	f, info, err := s.Entries.Write(ctx, c, path, o)
	if d, ok := f.(room.Draft); ok {
		f = fullDraft{d}
	}
	return f, info, err
}

func (fullDraft) Commit(context.Context) error { return fmt.Errorf("stage: %w", unix.ENOSPC) }

func TestWhatADraftHasToldIsNotToldAgain(t *testing.T) {
	m := mount(t, func(o *fusefs.Options) { o.Root = full{o.Root.(*entries.Entries)} })
	if err := os.WriteFile(m.path("a", name1), []byte("---\ntype: finding\n---\ntext\n"), 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if told := m.read(".ctxfs/errors"); strings.Count(told, "\n") != 1 || !strings.Contains(told, "ENOSPC") {
		t.Errorf("told: %s", told)
	}
}
