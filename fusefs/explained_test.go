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
