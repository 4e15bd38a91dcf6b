package variables

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

func TestTheTopListsScopesThatHoldSomethingAndAllExist(t *testing.T) {
	w := openWorld(t, Options{})
	if got := w.names(w.Room(), ""); !slices.Equal(got, []string{"global"}) {
		t.Fatalf("%q", got)
	}
	for _, scope := range []Scope{"agent:b", "session:z", "agent:a", "session:y"} {
		w.set(scope, "k", "x")
	}
	if got := strings.Join(w.names(w.Room(), ""), " "); got != "agent:a agent:b global session:y session:z" {
		t.Fatalf("%q", got)
	}
	for _, dir := range []string{"", "global", "agent:new", "session:new", "self", "global/.ref", "global/.summary"} {
		if info, err := w.Room().Stat(bg, dir); err != nil || info.Kind != room.Dir {
			t.Errorf("%q: %+v, %v", dir, info, err)
		}
		if _, err := w.Room().MakeDir(bg, alice, dir, 0o755); !errors.Is(err, backing.ErrExists) {
			t.Errorf("mkdir %q: %v", dir, err)
		}
	}
	for _, path := range []string{"nowhere", "agent:", "global/none", "global/.ref/none", "global/.summary/none", "global/.other", "nowhere/k"} {
		if info, err := w.Room().Stat(bg, path); !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("%q: %+v, %v", path, info, err)
		}
	}
	_, err := w.Room().MakeDir(bg, alice, "nowhere", 0o755)
	wantRefusal(t, err, syscall.EINVAL)
	_, err = w.Room().MakeDir(bg, alice, "global/dir", 0o755)
	wantRefusal(t, err, syscall.EPERM)
	if err := w.Delete(bg, "agent:a", "k"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.names(w.Room(), ""), " "); got != "agent:b global session:y session:z" {
		t.Fatalf("%q", got)
	}
	if err := w.Room().RemoveDir(bg, alice, "agent:a"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"agent:b", "session:y"} {
		if err := w.Room().RemoveDir(bg, alice, dir); !errors.Is(err, backing.ErrNotEmpty) {
			t.Errorf("rmdir %s: %v", dir, err)
		}
	}
}

func TestForeignThingsInTheDirectoryAreNotShown(t *testing.T) {
	w := openWorld(t, Options{})
	w.set(Global, "k", "x")
	for _, err := range []error{
		os.Mkdir(w.file("global/dir"), 0o755), os.Symlink("/etc/passwd", w.file("global/link")),
		os.WriteFile(w.file("global/.hidden"), []byte("x"), 0o644), unix.Mkfifo(w.file("global/fifo"), 0o644),
		os.Mkdir(w.file("stray"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := w.names(w.Room(), "global"); !slices.Equal(got, []string{"k"}) {
		t.Fatalf("%q", got)
	}
	for _, key := range []string{"dir", "link", "fifo"} {
		if _, err := w.Room().Stat(bg, "global/"+key); !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if got := w.names(w.Room(), ""); !slices.Equal(got, []string{"global"}) {
		t.Fatalf("%q", got)
	}
}

func TestHandlesAndListsAreFiles(t *testing.T) {
	w := openWorld(t, Options{})
	w.set(Global, "b", "text")
	w.set(Global, "a.json", "{}")
	ref, err := ParseRef([]byte(w.read(w.Room(), "global/.ref/b")))
	if err != nil || ref != w.ref(Global, "b") {
		t.Fatalf("%+v, %v", ref, err)
	}
	info, err := w.Room().Stat(bg, "global/.ref/b")
	if err != nil || info.Kind != room.Virtual || info.Size != int64(len(w.read(w.Room(), "global/.ref/b"))) {
		t.Fatalf("%+v, %v", info, err)
	}
	lines := strings.Split(strings.TrimSpace(w.read(w.Room(), "global/.list")), "\n")
	var first Meta
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || len(lines) != 2 || first.Key != "a.json" || first.Type != JSON || !first.Persist {
		t.Fatalf("%q, %v", lines, err)
	}
	for _, dir := range []string{"global", "global/.ref", "global/.summary"} {
		if got := w.names(w.Room(), dir); !slices.Equal(got, []string{"a.json", "b"}) {
			t.Errorf("%s: %q", dir, got)
		}
	}
	for _, path := range []string{"global/.ref/b", "global/.summary/b", "global/.list"} {
		if _, _, err := w.Room().Write(bg, alice, path, room.Create{New: true}); err == nil {
			t.Errorf("%s can be written", path)
		}
		if err := w.Room().Remove(bg, alice, path); err == nil {
			t.Errorf("%s can be removed", path)
		}
	}
}

func TestModesTimesAndOwnersAreMetadata(t *testing.T) {
	w := openWorld(t, Options{MemoryCeiling: 1})
	for _, scope := range scopes {
		ref := w.set(scope, "k", "x")
		mode, at := os.FileMode(0o600), newClock().now()
		info, err := w.Room().SetAttr(bg, alice, string(scope)+"/k", backing.AttrChange{Mode: &mode, ModTime: &at})
		if err != nil || info.Mode != mode || !info.ModTime.Equal(at) {
			t.Fatalf("%s: %+v, %v", scope, info, err)
		}
		again, err := w.Room().Stat(bg, string(scope)+"/k")
		if err != nil || again != info {
			t.Fatalf("%s: %+v, %v; want %+v", scope, again, err, info)
		}
		w.want(scope, "k", "x")
		if scope.session() && w.ref(scope, "k").ID != ref.ID {
			t.Fatal("another mode is not another value")
		}
		f := w.create(string(scope)+"/new", 0)
		if err := errors.Join(f.(room.Draft).SetAttr(bg, backing.AttrChange{Mode: &mode, ModTime: &at}), f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		if info, err := w.Room().Stat(bg, string(scope)+"/new"); err != nil || info.Mode != mode || !info.ModTime.Equal(at) {
			t.Fatalf("%s: %+v, %v", scope, info, err)
		}
	}
}

func TestWatchTellsOfEditsAndOfTheLibrary(t *testing.T) {
	w := openWorld(t, Options{})
	w.set(Global, "k", "x")
	w.names(w.Room(), "global")
	told := make(chan string, 100)
	ctx, cancel := withDeadline(t)
	done := make(chan error)
	go func() {
		done <- w.Room().Watch(ctx, func(path string, deep bool) {
			select {
			case told <- path:
			case <-ctx.Done():
			}
		})
	}()
	// The watcher may not watch yet at the first change: it is made again
	// until it was told of.
	waitFor := func(path string, again func()) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case got := <-told:
				if got == path {
					return
				}
			case <-tick.C:
				again()
			case <-ctx.Done():
				t.Fatalf("nothing was told of %s", path)
			}
		}
	}
	waitFor("session:s1/k", func() { w.set("session:s1", "k", "x") })
	waitFor("global/k", func() {
		if err := os.WriteFile(w.file("global/k"), []byte("edited"), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
