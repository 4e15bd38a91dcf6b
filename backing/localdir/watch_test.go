package localdir

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// soon is how late an edit by another program may be seen.
const soon = time.Second

func TestEditsByOthersAreSeenWithinASecond(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	wantEditsSeen(t, s, dir)
}

func TestWithoutInotifyWatchesEditsAreSeenBySecondLooks(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	s := openStore(t, dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	s.watches.every = 20 * time.Millisecond
	watchNothing(t, s)
	wantEditsSeen(t, s, dir)
	must(t, s.Close())
	if n := strings.Count(log.String(), "max_user_watches"); n != 1 {
		t.Fatalf("%d warnings:\n%s", n, &log)
	}
}

func TestAPolledDirectoryIsSeenWithinASecond(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	watchNothing(t, s)
	events := startWatch(t, s)
	list(t, s, "")
	must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
	awaitKey(t, "write", events, "a")
}

// watchNothing makes the system give no inotify watches from here on.
func watchNothing(t *testing.T, s *Store) {
	t.Helper()
	startWatch(t, s)
	w := s.watches
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.add = func(string) error { return fmt.Errorf("inotify_add_watch: %w", unix.ENOSPC) }
	for _, dir := range w.forget("") {
		w.join(dir)
	}
}

func wantEditsSeen(t *testing.T, s *Store, dir string) {
	t.Helper()
	events := startWatch(t, s)
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	list(t, s, "")
	list(t, s, "d")
	file, other := filepath.Join(dir, "d", "a"), filepath.Join(dir, "other")
	for _, step := range []struct {
		what string
		do   func() error
		key  backing.Key
	}{
		{"create", func() error { return os.WriteFile(file, []byte("1"), 0o644) }, "d/a"},
		{"write in place", func() error { return overwrite(file, "22") }, "d/a"},
		{"same size in place", func() error { return overwrite(file, "33") }, "d/a"},
		{"chmod", func() error { return os.Chmod(file, 0o600) }, "d/a"},
		{"create another", func() error { return os.WriteFile(other, []byte("new"), 0o644) }, "other"},
		{"rename over", func() error { return os.Rename(other, file) }, "d/a"},
		{"remove", func() error { return os.Remove(file) }, "d/a"},
		{"mkdir", func() error { return os.Mkdir(filepath.Join(dir, "d", "e"), 0o755) }, "d/e"},
		{"write in a directory made since", func() error {
			list(t, s, "d/e")
			return os.WriteFile(filepath.Join(dir, "d", "e", "x"), nil, 0o644)
		}, "d/e/x"},
		{"rename of a directory", func() error { return os.Rename(filepath.Join(dir, "d", "e"), filepath.Join(dir, "d", "f")) }, "d/f"},
		{"write in a renamed directory", func() error {
			list(t, s, "d/f")
			return os.WriteFile(filepath.Join(dir, "d", "f", "y"), nil, 0o644)
		}, "d/f/y"},
		{"a directory made anew by the old name", func() error { return os.Mkdir(filepath.Join(dir, "d", "e"), 0o755) }, "d/e"},
		{"write in a directory made anew", func() error {
			list(t, s, "d/e")
			return os.WriteFile(filepath.Join(dir, "d", "e", "z"), nil, 0o644)
		}, "d/e/z"},
		{"removal of everything", func() error { return os.RemoveAll(filepath.Join(dir, "d")) }, "d"},
	} {
		passEarlier(t, dir, events)
		must(t, step.do())
		awaitKey(t, step.what, events, step.key)
	}
}

// passEarlier reads events until all that is older has been read, so that no
// late event of the step before is taken for one of the next. Two marks,
// because a polled directory may be looked at after the first was seen.
func passEarlier(t *testing.T, dir string, events <-chan backing.Event) {
	t.Helper()
	for _, mark := range []string{"mark1", "mark2"} {
		path := filepath.Join(dir, mark)
		must(t, os.WriteFile(path, nil, 0o644))
		awaitKey(t, "mark", events, backing.Key(mark))
		must(t, os.Remove(path))
		awaitKey(t, "end of mark", events, backing.Key(mark))
	}
}

func overwrite(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func TestADirectoryUsedByItsNewNameBeforeTheRenameWasHeardOfIsWatched(t *testing.T) {
	// With one processor the goroutine that hears of the rename does not run
	// before the new name is used.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	const moves = 10
	for i := range moves {
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("p%d", i)), 0o755))
	}
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	events := startWatch(t, s)
	was := backing.Key("d")
	for i := range moves {
		// Its new parent was never used: nobody hears that it came there.
		is := backing.Key(fmt.Sprintf("p%d/d", i))
		list(t, s, was)
		must(t, os.Rename(filepath.Join(dir, string(was)), filepath.Join(dir, string(is))))
		list(t, s, is)
		passEarlier(t, dir, events)
		must(t, os.WriteFile(filepath.Join(dir, string(is), "x"), []byte{byte(i)}, 0o644))
		awaitKey(t, "write", events, is+"/x")
		was = is
	}
}

func TestDirectoriesUsedBeforeTheirCreationWasHeardOfAreWatched(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	events := startWatch(t, s)
	list(t, s, "")
	for i := range 10 {
		deep := backing.Key(fmt.Sprintf("a%d/b/c", i))
		must(t, os.MkdirAll(filepath.Join(dir, string(deep)), 0o755))
		list(t, s, deep)
		passEarlier(t, dir, events)
		must(t, os.WriteFile(filepath.Join(dir, string(deep), "x"), nil, 0o644))
		awaitKey(t, "write", events, deep+"/x")
	}
}

func TestLostEventsBringAResync(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	events := startWatch(t, s)
	list(t, s, "")
	s.watches.notify.Errors <- fsnotify.ErrEventOverflow
	awaitEvent(t, "resync", events, func(ev backing.Event) bool { return ev.Kind == backing.Resync })
	must(t, os.WriteFile(filepath.Join(dir, "after"), nil, 0o644))
	awaitKey(t, "write after the resync", events, "after")
}

func TestWatchesOfWhatWasUsedEarlierBeginWithTheFirstWatch(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	list(t, s, "d")
	events := startWatch(t, s)
	must(t, os.WriteFile(filepath.Join(dir, "d", "a"), nil, 0o644))
	awaitKey(t, "write", events, "d/a")
}

func TestALinkInTheStoreIsNotWatched(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	startWatch(t, s)
	must(t, os.Symlink(outside, filepath.Join(dir, "l")))
	if _, err := s.List(context.Background(), "l", "", 1); err == nil {
		t.Fatal("a link was listed")
	}
	for _, path := range s.watches.notify.WatchList() {
		if strings.HasSuffix(path, "/l") {
			t.Fatalf("%s is watched", path)
		}
	}
}

func startWatch(t *testing.T, s *Store) <-chan backing.Event {
	t.Helper()
	events, err := s.Watch(t.Context(), "")
	must(t, err)
	return events
}

func list(t *testing.T, s *Store, dir backing.Key) {
	t.Helper()
	_, err := s.List(context.Background(), dir, "", 100)
	must(t, err)
}

func awaitKey(t *testing.T, what string, events <-chan backing.Event, keys ...backing.Key) {
	t.Helper()
	awaitEvent(t, what, events, func(ev backing.Event) bool {
		for _, key := range keys {
			if ev.Kind == backing.Changed && ev.Key == key {
				return true
			}
		}
		return false
	})
}

func awaitEvent(t *testing.T, what string, events <-chan backing.Event, is func(backing.Event) bool) {
	t.Helper()
	late := time.NewTimer(soon)
	defer late.Stop()
	for {
		select {
		case ev := <-events:
			if is(ev) {
				return
			}
		case <-late.C:
			t.Fatalf("%s was not seen within %v", what, soon)
		}
	}
}
