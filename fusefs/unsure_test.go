package fusefs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/fusefs"
	"ctxfs/room"
	"ctxfs/variables"
)

// unsure is a room on a disk that takes names away and moves them, and then
// fails to sync that.
type unsure struct{ room.Room }

var errUnsure = fmt.Errorf("%w: sync directory: %w", backing.ErrUnknown, unix.EIO)

func (r unsure) Rename(ctx context.Context, c room.Caller, from, to string, flags uint) error {
	return errors.Join(r.Room.Rename(ctx, c, from, to, flags), errUnsure)
}

func (r unsure) Remove(ctx context.Context, c room.Caller, path string) error {
	return errors.Join(r.Room.Remove(ctx, c, path), errUnsure)
}

func TestWhatHasHappenedThoughItWasToldAsFailedIsSeen(t *testing.T) {
	m := mount(t, func(o *fusefs.Options) {
		vars, err := variables.New(o.Store, variables.Options{Log: o.Log, Journal: o.Journal})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = vars.Close() })
		o.Rooms = map[string]room.Room{"vars": unsure{vars.Room()}}
	})
	from, to := "vars/agent:a/k", "vars/global/k"
	m.write(from, "text")
	_, err := os.Stat(m.path(to))
	if !errors.Is(err, unix.ENOENT) {
		t.Fatal(err)
	}
	m.wantErrno("rename", os.Rename(m.path(from), m.path(to)), unix.EIO)
	m.becomes(to, true)
	m.becomes(from, false)
	m.wantErrno("unlink", unix.Unlink(m.path(to)), unix.EIO)
	m.becomes(to, false)
}

// becomes waits until the kernel finds the file, or does not.
func (m mounted) becomes(path string, there bool) {
	m.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err = os.Stat(m.path(path)); (err == nil) == there {
			return
		}
	}
	m.Errorf("%s: %v", path, err)
}
