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

// silent is a room whose store does not answer.
type silent struct {
	*entries.Entries
	now atomic.Bool
}

func (s *silent) Stat(ctx context.Context, path string) (room.Info, error) {
	if s.now.Load() {
		return room.Info{}, fmt.Errorf("ask db.example.com: %w", context.DeadlineExceeded)
	}
	return s.Entries.Stat(ctx, path)
}

func TestAStoreThatDoesNotAnswerIsToldInErrors(t *testing.T) {
	s := &silent{}
	m := mount(t, func(o *fusefs.Options) {
		s.Entries = o.Root.(*entries.Entries)
		o.Root = s
	})
	s.now.Store(true)
	for range 20 {
		if _, err := os.Stat(m.path("a", name1)); !errors.Is(err, unix.ETIMEDOUT) {
			t.Fatal(err)
		}
	}
	s.now.Store(false)
	told := m.read(".ctxfs/errors")
	if strings.Count(told, "\n") != 1 || !strings.Contains(told, "ETIMEDOUT") || !strings.Contains(told, "ask db.example.com") {
		t.Errorf("told: %s", told)
	}
}
