package variables

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

func TestADraftIsSeenWhenItIsCommitted(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		path := string(scope) + "/k"
		w.mustSave(path, "old")
		f := w.create(path, os.O_TRUNC)
		for i, part := range []string{"one ", "two ", "three"} {
			if _, err := f.WriteAt([]byte(part), int64(4*i)); err != nil {
				t.Fatal(err)
			}
		}
		w.want(scope, "k", "old")
		d := f.(room.Draft)
		if d.Size() != 13 || d.Info().Size != 13 {
			t.Fatalf("size %d", d.Size())
		}
		if err := d.Commit(bg); err != nil {
			t.Fatal(err)
		}
		w.want(scope, "k", "one two three")
		info, err := w.Room().Stat(bg, path)
		if err != nil || info.Revision != d.Info().Revision || d.Changed() {
			t.Fatalf("%+v, %v; the draft says %+v", info, err, d.Info())
		}
		if _, err := d.Append([]byte("!")); err != nil { // amends
			t.Fatal(err)
		}
		if err := errors.Join(d.Commit(bg), d.Close()); err != nil {
			t.Fatal(err)
		}
		w.want(scope, "k", "one two three!")
	}
}

func TestADraftThatIsClosedWithoutACommitLeavesNothing(t *testing.T) {
	w := openWorld(t, Options{})
	f := w.create("global/k", 0)
	if _, err := f.WriteAt([]byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	info, err := w.Room().Stat(bg, "global/k")
	if err != nil || info.Size != 0 || info.Kind != room.Object {
		t.Fatalf("a variable that is being written: %+v, %v", info, err)
	}
	if got := w.names(w.Room(), "global"); len(got) != 1 {
		t.Fatalf("listed: %q", got)
	}
	if _, err := w.Room().Stat(bg, "global/.ref/k"); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("it has a ref: %v", err)
	}
	if _, _, err := w.Room().Write(bg, alice, "global/k", room.Create{New: true, Exclusive: true}); !errors.Is(err, backing.ErrExists) {
		t.Fatalf("made twice: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.names(w.Room(), "global"); len(got) != 0 {
		t.Fatalf("listed: %q", got)
	}
}

func TestTouchMakesAnEmptyVariable(t *testing.T) {
	w := openWorld(t, Options{})
	for _, path := range []string{"global/k", "global/k.json", "session:s1/k", "session:s1/k.json"} {
		f := w.create(path, 0)
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if info, err := w.Room().Stat(bg, path); err != nil || info.Size != 0 {
			t.Fatalf("%+v, %v", info, err)
		}
	}
	w.mustSave("global/k.json", "{}")
	wantRefusal(t, w.save("global/k.json", ""), syscall.EINVAL) // nothing is lost by a command that failed
	w.want(Global, "k.json", "{}")
}

func TestAppendingToAValueKeepsIt(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		for _, size := range []int{5, 40000, 2 << 20} {
			old := strings.Repeat("o", size)
			w.set(scope, "k", old)
			f := w.create(string(scope)+"/k", os.O_APPEND)
			if _, err := f.(room.Draft).Append([]byte("more")); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(f.Sync(), f.Close()); err != nil {
				t.Fatal(err)
			}
			w.want(scope, "k", old+"more")
		}
	}
}

func TestALongDraftCanBeReadAndChangedAfterItsCommit(t *testing.T) {
	w := openWorld(t, Options{})
	long := strings.Repeat("0123456789", 300000)
	for _, scope := range scopes {
		f := w.create(string(scope)+"/k", os.O_TRUNC)
		if _, err := f.WriteAt([]byte(long), 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 3)
		if _, err := f.ReadAt(p, 2000007); err != nil || string(p) != "789" {
			t.Fatalf("%q, %v", p, err)
		}
		if _, err := f.WriteAt([]byte("XYZ"), 0); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(2000000), f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		w.want(scope, "k", "XYZ"+long[3:2000000])
	}
}

func TestARefusedDraftStaysBesideAndGoesWithAValidOne(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		path := string(scope) + "/x.json"
		w.mustSave(path, `{"a":1}`)
		bad := "{\n\"a\": 1,\n}"
		if r := wantRefusal(t, w.save(path, bad), syscall.EINVAL); r.Line != 3 {
			t.Fatalf("%+v", r)
		}
		w.want(scope, "x.json", `{"a":1}`)
		rej := w.read(w.Room(), path+".rej")
		if !strings.HasPrefix(rej, "# ") || !strings.HasSuffix(rej, "\n\n"+bad) || !strings.Contains(rej, "line 3") {
			t.Fatalf(".rej: %q", rej)
		}
		w.mustSave(path, `{"a":2}`)
		if _, err := w.Room().Stat(bg, path+".rej"); !errors.Is(err, backing.ErrNotFound) {
			t.Fatalf("the .rej stays: %v", err)
		}
		w.set(scope, "x.json.rej", "the user's own")
		wantRefusal(t, w.save(path, bad), syscall.EINVAL)
		if rej := w.read(w.Room(), path+".2.rej"); !strings.HasSuffix(rej, bad) {
			t.Fatalf(".2.rej: %q", rej)
		}
		w.mustSave(path, `{"a":3}`)
		w.wantNone(scope, "x.json.2.rej")
		w.want(scope, "x.json.rej", "the user's own")
	}
}

func TestALongRefusedDraftIsKeptWhole(t *testing.T) {
	w := openWorld(t, Options{})
	key := strings.Repeat("ü", 97) + ".json"
	bad := `["` + strings.Repeat("x", 3<<20)
	wantRefusal(t, w.save("global/"+key, bad), syscall.EINVAL)
	all, err := w.List(bg, Filter{})
	if err != nil || len(all) != 1 || !strings.HasSuffix(all[0].Key, ".rej") {
		t.Fatalf("%+v, %v", all, err)
	}
	if got := w.read(w.Room(), "global/"+all[0].Key); !strings.HasSuffix(got, "\n\n"+bad) {
		t.Fatalf("the draft is not whole: %d bytes", len(got))
	}
}

func TestWhatCannotBecomeJSONIsRefusedAtTheWrite(t *testing.T) {
	w := openWorld(t, Options{})
	f := w.create("global/x.json", os.O_TRUNC)
	defer f.Close()
	if _, err := f.WriteAt([]byte(`{"a": `), 0); err != nil {
		t.Fatal(err)
	}
	_, err := f.WriteAt([]byte(`oops}`), 6)
	wantRefusal(t, err, syscall.EINVAL)
	// A writer who goes back and mends it is welcome.
	if _, err := f.WriteAt([]byte(`1    }`), 6); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	w.want(Global, "x.json", `{"a": 1    }`)
}

func TestRefusalsGoToTheJournal(t *testing.T) {
	w := openWorld(t, Options{})
	w.o.Journal = room.NewJournal(w.store)
	w.Variables.o.Journal = w.o.Journal
	wantRefusal(t, w.save("global/x.json", "{"), syscall.EINVAL)
	if _, _, err := w.Room().Write(bg, alice, "global/.hidden", room.Create{New: true}); err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(strings.TrimSpace(string(w.o.Journal.Last())), "\n")
	if len(lines) != 2 {
		t.Fatalf("journal: %q", lines)
	}
	for i, want := range []string{"vars/global/x.json", "vars/global/.hidden"} {
		var l struct{ Path, Agent, Errno, Reason, Fix string }
		if err := json.Unmarshal([]byte(lines[i]), &l); err != nil || l.Path != want || l.Agent != "alice" || l.Errno != "EINVAL" || l.Fix == "" {
			t.Fatalf("%+v, %v; want %s", l, err, want)
		}
	}
}

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

func TestAVariableRemovedWhileItIsWrittenStaysRemoved(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		for _, existed := range []bool{false, true} {
			path := string(scope) + "/k"
			if existed {
				w.set(scope, "k", "old")
			}
			f := w.create(path, os.O_TRUNC)
			if _, err := f.WriteAt([]byte("new"), 0); err != nil {
				t.Fatal(err)
			}
			if err := w.Room().Remove(bg, alice, path); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(f.Sync(), f.Close()); err != nil {
				t.Fatal(err)
			}
			w.wantNone(scope, "k")
			if got := w.names(w.Room(), string(scope)); len(got) != 0 {
				t.Fatalf("listed: %q", got)
			}
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
		done <- w.Room().Watch(ctx, func(path string, deep bool) { told <- path })
	}()
	waitFor := func(path string, again func()) {
		t.Helper()
		for {
			again()
			select {
			case got := <-told:
				if got == path {
					return
				}
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
