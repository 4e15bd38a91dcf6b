package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

// unsureStore is on a disk that moves names and takes them away, and then
// fails to sync that.
type unsureStore struct{ *localdir.Store }

var errUnsure = fmt.Errorf("%w: sync directory: %w", backing.ErrUnknown, unix.EIO)

func (s *unsureStore) Rename(ctx context.Context, from, to backing.Key, flags uint) error {
	return errors.Join(s.Store.Rename(ctx, from, to, flags), errUnsure)
}

func (s *unsureStore) Remove(ctx context.Context, key backing.Key, rev backing.Revision) error {
	return errors.Join(s.Store.Remove(ctx, key, rev), errUnsure)
}

func TestWhatHasHappenedThoughItWasToldAsFailedIsSeen(t *testing.T) {
	needRoot(t)
	log := slog.New(slog.DiscardHandler)
	w := &world{}
	var err error
	w.store, err = localdir.Open(filepath.Join(t.TempDir(), "store"), localdir.Options{Log: log})
	must(t, err)
	s := &unsureStore{w.store}
	must(t, w.openRooms(s, "unsure", "", log))
	mount := t.TempDir()
	fs, err := w.mount(mount, s)
	must(t, err)
	t.Cleanup(func() {
		must(t, fs.Detach())
		fs.Wait()
		must(t, w.close())
	})
	from, to := filepath.Join(mount, "vars/agent:a/k"), filepath.Join(mount, "vars/global/k")
	must(t, os.WriteFile(from, []byte("text"), 0o600))
	if _, err := os.Stat(to); !errors.Is(err, unix.ENOENT) {
		t.Fatalf("before: %v", err)
	}
	if err := os.Rename(from, to); !errors.Is(err, unix.EIO) {
		t.Errorf("rename: %v", err)
	}
	becomes(t, to, true)
	becomes(t, from, false)
	if err := unix.Unlink(to); !errors.Is(err, unix.EIO) {
		t.Errorf("unlink: %v", err)
	}
	becomes(t, to, false)
}

// becomes waits until the kernel finds the file, or does not.
func becomes(t *testing.T, path string, there bool) {
	t.Helper()
	var err error
	for end := time.Now().Add(slowPatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err = os.Stat(path); (err == nil) == there {
			return
		}
	}
	t.Errorf("%s: %v", path, err)
}
