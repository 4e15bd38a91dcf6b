package variables

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

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
