package fusefs_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing/localdir"
	"ctxfs/entries"
	"ctxfs/fusefs"
	"ctxfs/room"
)

// mounted is a store mounted for one test. Its methods fail the test.
type mounted struct {
	*testing.T
	dir   string // the mountpoint
	store string // the directory behind it
	fs    *fusefs.FS
}

const name1 = "20260221T143022-first.md"

// entry is a complete entry with the body given.
func entry(body string) string {
	return "---\nagent: a\nsessionId: s\ntimestamp: 2026-02-21T14:30:22Z\ntype: finding\ntags: []\n---\n" + body
}

// mount mounts an empty store with a directory "a". When the test ends the
// mount must come down cleanly and leave no descriptor behind.
func mount(t *testing.T, change ...func(*fusefs.Options)) mounted {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this test mounts")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Fatalf("this test needs /dev/fuse (or -short to leave it out): %v", err)
	}
	before := descriptors(t)
	m := mounted{T: t, dir: t.TempDir(), store: t.TempDir()}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := localdir.Open(m.store, localdir.Options{Log: log})
	m.must(err)
	journal := room.NewJournal(store)
	root, err := entries.New(store, entries.Options{Log: log, Journal: journal, Now: time.Now,
		Alive: func(pid uint32) bool { return unix.Kill(int(pid), 0) == nil }})
	m.must(err)
	o := fusefs.Options{Mountpoint: m.dir, StoreName: m.store, Root: root, Store: store,
		Journal: journal, Log: log, Version: "test", README: []byte("read me\n"), Agent: "tester"}
	for _, c := range change {
		c(&o)
	}
	m.fs, err = fusefs.Mount(o)
	m.must(err)
	t.Cleanup(func() {
		if err := m.fs.Unmount(); err != nil {
			t.Errorf("files are still open at the end: %v", err)
			m.must(m.fs.Detach())
		}
		m.fs.Wait()
		m.must(root.Close())
		m.must(store.Close())
		within(t, "descriptors are given back", func() error {
			if now := descriptors(t); now > before {
				return fmt.Errorf("%d descriptors, %d before", now, before)
			}
			return nil
		})
	})
	m.must(os.Mkdir(m.path("a"), 0o755))
	return m
}

func descriptors(t *testing.T) int {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// within tries check until it succeeds, for twenty seconds.
func within(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		<-tick.C
	}
}

func (m mounted) path(parts ...string) string {
	return filepath.Join(append([]string{m.dir}, parts...)...)
}

func (m mounted) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m mounted) write(path, content string) {
	m.Helper()
	m.must(os.WriteFile(m.path(path), []byte(content), 0o644))
}

func (m mounted) read(path string) string {
	m.Helper()
	b, err := os.ReadFile(m.path(path))
	m.must(err)
	return string(b)
}

func (m mounted) wantErrno(what string, err error, want unix.Errno) {
	m.Helper()
	if !errors.Is(err, want) {
		m.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// lines counts the lines of a changelog.
func lines(content string) int {
	_, section, _ := strings.Cut(content, "## Changelog")
	return strings.Count(section, "\n- ")
}
