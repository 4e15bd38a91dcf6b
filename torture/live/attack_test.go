package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// targets are the directories that the attacker swaps for symbolic links, in
// the store. Each leads to a directory outside with the same names in it.
var targets = []string{
	"victim", "victim/s", ".ctxfs/versions/victim", ".ctxfs/versions", ".ctxfs/staging", ".ctxfs/log", ".ctxfs/vars", ".ctxfs",
	"vars", "vars/global", "vars/agent:a", "memories", "memories/m", "results", "invocations",
}

func TestDirectoriesSwappedForLinksUnderAMountLeadNowhere(t *testing.T) {
	needRoot(t)
	clients, rounds := 2, 1
	if *full {
		clients, rounds = 8, 20
	}
	dir := t.TempDir()
	d := start(t, raced(), dir)
	v := &victims{mount: d.Point, done: make([]atomic.Int64, clients)}
	v.prepare(t)
	out := newOutside(t, filepath.Join(dir, "store"), filepath.Join(dir, "outside"))

	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop) })
	defer end() // clients that wait for a request end with the mount
	var working sync.WaitGroup
	for i := range clients {
		working.Go(func() { v.work(i, stop) })
	}
	swaps := 0
	for range rounds {
		for i, target := range targets {
			swaps += v.attack(t, filepath.Join(dir, "store", target), filepath.Join(dir, "outside", fmt.Sprint(i, "-link")))
		}
	}
	end()
	working.Wait()
	done := int64(0)
	for i := range v.done {
		done += v.done[i].Load()
	}

	wrong := v.wrong()
	for _, w := range wrong {
		t.Error(w)
	}
	tried, held := out.same(t)
	table.Add("racing attacker: files outside the store that are as they were", tried, held,
		fmt.Sprintf("%d swaps of %d directories, %d operations of %d processes", swaps, len(targets), done, clients))
	v.lives(t)
	now, err := d.Figures()
	if err != nil || now.Drafts != 0 {
		t.Errorf("after it: %+v, %v", now, err)
	}
	if said := d.Log(); strings.Contains(said, "panic") {
		t.Error(said)
	}
}

// attack swaps a directory for a link and back: many times at once, and then
// for as long as each client does everything once, so that it is not the
// kernel's memory that answers.
func (v *victims) attack(t *testing.T, dir, link string) (swaps int) {
	t.Helper()
	swap := func() {
		swaps++
		if err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
			t.Errorf("exchange %s: %v", dir, err)
		}
	}
	for range 500 {
		swap()
		swap()
	}
	swap()
	v.wait(t, len(v.operations(0, 0)))
	swap()
	return swaps
}

// wait returns when each client has done n operations more, from their
// beginning.
func (v *victims) wait(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	until := make([]int64, len(v.done))
	for i := range until {
		until[i] = v.done[i].Load() + int64(n) + 1
	}
	for i := range until {
		for v.done[i].Load() < until[i] {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("client %d waits for a request", i)
			}
		}
	}
}

// outside is a directory that nothing may reach, a tmpfs that notes each
// reading.
type outside struct {
	dir string
	was map[string]string // by path: all that stat says
}

// secret is in each file and each new name outside.
const secret = "canary"

// newOutside makes in dir a likeness of each target in the store, and the link
// to it.
func newOutside(t *testing.T, store, dir string) *outside {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// The links must be in the file system of the store, what they lead to need not.
	must(os.Mkdir(dir, 0o755))
	o := &outside{dir: filepath.Join(dir, "of-others"), was: map[string]string{}}
	must(os.Mkdir(o.dir, 0o777))
	must(unix.Mount("outside", o.dir, "tmpfs", unix.MS_STRICTATIME, "mode=777"))
	t.Cleanup(func() {
		if err := unix.Unmount(o.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for i, target := range targets {
		to := filepath.Join(o.dir, fmt.Sprint(i))
		must(os.Symlink(to, filepath.Join(dir, fmt.Sprint(i, "-link"))))
		must(filepath.WalkDir(filepath.Join(store, target), func(path string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			at := to + strings.TrimPrefix(path, filepath.Join(store, target))
			if e.IsDir() {
				return os.MkdirAll(at, 0o777)
			}
			return os.WriteFile(at, []byte(likeness(path)), 0o666)
		}))
		must(os.MkdirAll(filepath.Join(to, "empty"), 0o777))
		for _, name := range []string{secret + ".txt", "20260222T100000-" + secret + ".md", secret + ".json"} {
			must(os.WriteFile(filepath.Join(to, name), []byte(likeness(name)), 0o666))
		}
	}
	must(filepath.WalkDir(o.dir, func(path string, _ os.DirEntry, err error) error { o.was[path] = ""; return err }))
	for path := range o.was {
		o.was[path] = statOf(path)
	}
	return o
}

// likeness is what path could hold.
func likeness(path string) string {
	switch filepath.Ext(path) {
	case ".md":
		return fmt.Sprintf(front, secret, secret)
	case ".json", ".jsonl":
		return `{"rawEntry":"` + secret + `","tool_name":"` + secret + `"}` + "\n"
	}
	return secret
}

// statOf is who, how much and when, also of the last reading.
func statOf(path string) string {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err.Error()
	}
	return fmt.Sprint(st.Ino, st.Mode, st.Nlink, st.Uid, st.Gid, st.Size, st.Mtim, st.Ctim, st.Atim)
}

// same counts what is as it was.
func (o *outside) same(t *testing.T) (tried, held int) {
	t.Helper()
	for path, was := range o.was {
		tried++
		if now := statOf(path); now != was {
			t.Errorf("%s is %s, and was %s", path, now, was)
			continue
		}
		held++
	}
	err := filepath.WalkDir(o.dir, func(path string, _ os.DirEntry, err error) error {
		if _, known := o.was[path]; !known {
			t.Errorf("%s was made", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return tried, held
}
