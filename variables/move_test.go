package variables

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

func TestPromotionMovesContentAndTypeBetweenAllScopes(t *testing.T) {
	w := openWorld(t, Options{})
	for _, size := range []int{3, 50000} {
		text := strings.Repeat("p", size)
		for _, typ := range []Type{Text, Memory, Stream} {
			for _, from := range scopes {
				for _, to := range append(scopes, "agent:other", "session:s2") {
					t.Run(fmt.Sprintf("%s %d from %s to %s", typ, size, from, to), func(t *testing.T) {
						if from == to {
							return
						}
						old, err := w.Set(bg, "k", text, SetOptions{Scope: from, Type: typ})
						if err != nil {
							t.Fatal(err)
						}
						w.set(to, "k", "replaced")
						ref, err := w.Promote(bg, from, "k", to)
						if err != nil || ref.Type != typ || ref.Scope != to {
							t.Fatalf("%+v, %v", ref, err)
						}
						w.wantNone(from, "k")
						w.want(to, "k", text)
						_, err = w.Resolve(bg, old)
						wantRefusal(t, err, syscall.ENOENT)
						if got, err := w.Resolve(bg, ref); err != nil || string(got) != text {
							t.Fatalf("%.10q, %v", got, err)
						}
						if err := w.Delete(bg, to, "k"); err != nil {
							t.Fatal(err)
						}
					})
				}
			}
		}
	}
	if s := w.status(); s.Variables != 0 || s.MemoryBytes != 0 || s.Spilled != 0 || w.spillFiles() != 0 {
		t.Fatalf("%+v, %d files", s, w.spillFiles())
	}
}

func TestPromotionOfNothingIsNotFound(t *testing.T) {
	w := openWorld(t, Options{})
	if _, err := w.Promote(bg, "agent:alice", "none", Global); !errors.Is(err, backing.ErrNotFound) {
		t.Fatal(err)
	}
}

func TestSaveByRenameKeepsTheTypeOfWhatItReplaces(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		if _, err := w.Set(bg, "m", "old", SetOptions{Scope: scope, Type: Memory}); err != nil {
			t.Fatal(err)
		}
		w.mustSave(string(scope)+"/sedAbCdEf", "new")
		if err := w.Room().Rename(bg, alice, string(scope)+"/sedAbCdEf", string(scope)+"/m", 0); err != nil {
			t.Fatal(err)
		}
		w.want(scope, "m", "new")
		if got := w.ref(scope, "m").Type; got != Memory {
			t.Fatalf("%s: type %s", scope, got)
		}
		w.wantNone(scope, "sedAbCdEf")
	}
}

func TestSaveByRenameOntoJSONMustParse(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		w.set(scope, "x.json", "{}")
		w.mustSave(string(scope)+"/tmp", "{")
		wantRefusal(t, w.Room().Rename(bg, alice, string(scope)+"/tmp", string(scope)+"/x.json", 0), syscall.EINVAL)
		w.want(scope, "x.json", "{}")
		w.want(scope, "tmp", "{")
		w.mustSave(string(scope)+"/tmp", "[1]")
		if err := w.Room().Rename(bg, alice, string(scope)+"/tmp", string(scope)+"/x.json", 0); err != nil {
			t.Fatal(err)
		}
		if got := w.ref(scope, "x.json"); got.Type != JSON || got.SizeBytes != 3 {
			t.Fatalf("%+v", got)
		}
	}
}

func TestRenameBeforeTheCloseTakesWhatWasWritten(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		w.set(scope, "k", "old")
		f := w.create(string(scope)+"/tmp", 0)
		if _, err := f.WriteAt([]byte("new"), 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Room().Rename(bg, alice, string(scope)+"/tmp", string(scope)+"/k", 0); err != nil {
			t.Fatal(err)
		}
		w.want(scope, "k", "new")
		if _, err := f.WriteAt([]byte("er"), 3); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		w.want(scope, "k", "newer")
		w.wantNone(scope, "tmp")
	}
}

func TestRenameFlags(t *testing.T) {
	w := openWorld(t, Options{})
	r := w.Room()
	w.set(Global, "a", "a")
	w.set(Global, "b", "b")
	if err := r.Rename(bg, alice, "global/a", "global/b", unix.RENAME_NOREPLACE); !errors.Is(err, backing.ErrExists) {
		t.Fatal(err)
	}
	if err := r.Rename(bg, alice, "global/a", "global/b", unix.RENAME_EXCHANGE); !errors.Is(err, syscall.EINVAL) {
		t.Fatal(err)
	}
	if err := r.Rename(bg, alice, "global/a", "global/a", 0); err != nil {
		t.Fatal(err)
	}
	if err := r.Rename(bg, alice, "global/a", "global/c", unix.RENAME_NOREPLACE); err != nil {
		t.Fatal(err)
	}
	w.want(Global, "c", "a")
	wantRefusal(t, r.Rename(bg, alice, "global/b", "global/.b", 0), syscall.EINVAL)
	wantRefusal(t, r.Rename(bg, alice, "global/b", "nowhere/b", 0), syscall.EINVAL)
	w.want(Global, "b", "b")
}

func TestSelfIsTheCallersView(t *testing.T) {
	w := openWorld(t, Options{})
	w.set(Global, "g", "global")
	w.set(Global, "k", "global")
	w.set("agent:alice", "k", "alice")
	w.set("agent:bob", "k", "bob")
	w.set("agent:bob", "private", "bob")
	w.set("session:s1", "k", "session")
	w.set("session:s2", "sibling", "other")
	tests := []struct {
		who   room.Caller
		k     string
		names string
	}{
		{alice, "session", "g k"},
		{room.Caller{Agent: "alice"}, "alice", "g k"},
		{room.Caller{Agent: "bob", Session: "s3"}, "bob", "g k private"},
		{room.Caller{Agent: "carol", Session: "s2"}, "global", "g k sibling"},
		{room.Caller{}, "global", "g k"},
	}
	for _, tt := range tests {
		r := w.Room().For(tt.who)
		if got := w.read(r, "self/k"); got != tt.k {
			t.Errorf("%+v sees k %q", tt.who, got)
		}
		if got := strings.Join(w.names(r, "self"), " "); got != tt.names {
			t.Errorf("%+v sees %q", tt.who, got)
		}
		for _, dir := range []string{"self/k", "self", "self/.ref"} {
			if info, err := r.Stat(bg, dir); err != nil || !info.Volatile && info.Kind != room.Virtual {
				t.Errorf("%s may be cached: %+v, %v", dir, info, err)
			}
		}
		if page, err := r.List(bg, "self", "", 1); err != nil || !page[0].Volatile {
			t.Errorf("%+v, %v may be cached", page, err)
		}
		if got := w.read(r, "self/g"); got != "global" {
			t.Errorf("%+v sees g %q", tt.who, got)
		}
		ref, err := ParseRef([]byte(w.read(r, "self/.ref/k")))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.Resolve(bg, ref); err != nil || string(got) != tt.k {
			t.Errorf("%+v: its ref leads to %q, %v", tt.who, got, err)
		}
		if got := w.read(r, "self/.list"); strings.Count(got, "\n") != len(strings.Fields(tt.names)) {
			t.Errorf("%+v: .list %q", tt.who, got)
		}
	}
	if _, err := w.Room().For(alice).Stat(bg, "self/sibling"); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("alice sees a sibling session: %v", err)
	}
}

func TestWritingToSelfGoesToTheAgentsScope(t *testing.T) {
	w := openWorld(t, Options{})
	r := w.Room()
	w.set(Global, "k", "global")
	w.mustSave("self/k", "mine")
	w.want("agent:alice", "k", "mine")
	w.want(Global, "k", "global")
	w.set(Global, "list", "one")
	f := w.create("self/list", os.O_APPEND)
	if _, err := f.(room.Draft).Append([]byte(" two")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	w.want("agent:alice", "list", "one two")
	w.want(Global, "list", "one")
	if _, err := w.Append(bg, "log", []byte("global\n"), SetOptions{}); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.Write(bg, alice, "self/log", room.Create{Flags: os.O_WRONLY | os.O_APPEND})
	wantRefusal(t, err, syscall.EACCES)
	if f, _, err := r.Write(bg, alice, "self/log", room.Create{Flags: os.O_RDONLY}); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if err := r.Remove(bg, alice, "self/k"); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, r.Remove(bg, alice, "self/k"), syscall.EACCES)
	w.want(Global, "k", "global")
	_, _, err = r.Write(bg, room.Caller{}, "self/new", room.Create{New: true})
	wantRefusal(t, err, syscall.EACCES)
	if err := r.Rename(bg, alice, "self/list", "session:s1/list", 0); err != nil {
		t.Fatal(err)
	}
	w.want("session:s1", "list", "one two")
	if got := AgentScope("a b/../c"); got != "agent:xa-b-..-c" {
		t.Fatalf("scope of a strange label: %s", got)
	}
}

func TestTypePersistAndRefAreAttributes(t *testing.T) {
	w := openWorld(t, Options{})
	r := w.Room()
	get := func(path, attr string) string {
		t.Helper()
		p, err := r.GetXattr(bg, path, attr)
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	for _, scope := range scopes {
		path := string(scope) + "/k"
		w.set(scope, "k", "not json")
		ref := w.ref(scope, "k")
		if got := get(path, XattrRef); got != string(ref.JSON()) {
			t.Fatalf("%s", got)
		}
		for _, typ := range []Type{Memory, Stream, Result, Text} {
			if err := r.SetXattr(bg, alice, path, XattrType, []byte(typ)); err != nil {
				t.Fatal(err)
			}
			if got := get(path, XattrType); got != string(typ) {
				t.Fatalf("%s is %s, want %s", path, got, typ)
			}
			w.want(scope, "k", "not json")
		}
		wantRefusal(t, r.SetXattr(bg, alice, path, XattrType, []byte("json")), syscall.EINVAL)
		wantRefusal(t, r.SetXattr(bg, alice, path, XattrType, []byte("blob")), syscall.EINVAL)
		wantRefusal(t, r.SetXattr(bg, alice, path, XattrPersist, []byte("yes")), syscall.EINVAL)
		// Before the first commit.
		f := w.create(string(scope)+"/new", 0)
		if err := errors.Join(r.SetXattr(bg, alice, string(scope)+"/new", XattrType, []byte("result")), f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		if got := get(string(scope)+"/new", XattrType); got != "result" {
			t.Fatal(got)
		}
		if names, err := r.ListXattr(bg, path); err != nil || len(names) != 3 {
			t.Fatalf("%q, %v", names, err)
		}
		if _, err := r.GetXattr(bg, path, "security.selinux"); !errors.Is(err, syscall.ENOTSUP) {
			t.Fatal(err)
		}
		if err := r.RemoveXattr(bg, alice, string(scope)+"/new", XattrType); err != nil || get(string(scope)+"/new", XattrType) != "text" {
			t.Fatal(err)
		}
	}
	if err := r.SetXattr(bg, alice, "session:s1/k", XattrPersist, []byte("1")); err != nil || get("session:s1/k", XattrPersist) != "1" {
		t.Fatal(err)
	}
	wantRefusal(t, r.SetXattr(bg, alice, "global/k", XattrPersist, []byte("0")), syscall.EINVAL)
	w.crash()
	w.want("session:s1", "k", "not json")
}
