package variables

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
)

var scopes = []Scope{Global, "agent:alice", "session:s1"}

func TestSetThenGetReturnsTheBytesInEveryScope(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		for _, text := range []string{"", "x", "\x00\xff binary", strings.Repeat("long ", 20000), strings.Repeat("longer ", 300000)} {
			w.set(scope, "k", text)
			w.want(scope, "k", text)
		}
	}
}

func TestSetTakesAnyValue(t *testing.T) {
	w := openWorld(t, Options{})
	tests := []struct {
		value any
		want  string
		typ   Type
	}{
		{"text", "text", Text},
		{[]byte("bytes"), "bytes", Text},
		{strings.NewReader("read"), "read", Text},
		{json.RawMessage(`{"a":1}`), `{"a":1}`, JSON},
		{map[string]int{"a": 1}, `{"a":1}`, JSON},
		{[]string{"x"}, `["x"]`, JSON},
		{42, "42", JSON},
	}
	for _, tt := range tests {
		ref, err := w.Set(bg, "k", tt.value, SetOptions{Scope: "session:s1"})
		if err != nil || ref.Type != tt.typ {
			t.Fatalf("%v: ref %+v, %v", tt.value, ref, err)
		}
		w.want("session:s1", "k", tt.want)
		if err := w.Delete(bg, "session:s1", "k"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAgentAndGlobalVariablesAreReadableFiles(t *testing.T) {
	w := openWorld(t, Options{})
	w.set(Global, "a.json", `{"n":1}`)
	w.set("agent:alice", "note", "mine")
	if got := w.onDisk("global/a.json") + w.onDisk("agent:alice/note"); got != `{"n":1}mine` {
		t.Fatalf("on disk: %q", got)
	}
	w.set("session:s1", "k", "x")
	if _, err := os.Stat(w.file("session:s1")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a session has a directory: %v", err)
	}
}

func TestTypesOfEveryKindSurviveARestart(t *testing.T) {
	w := openWorld(t, Options{})
	for _, typ := range []Type{Text, JSON, Memory, Result, Stream} {
		for _, key := range []string{"k-" + string(typ), "k-" + string(typ) + ".json"} {
			if _, err := w.Set(bg, key, "{}", SetOptions{Type: typ}); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func() {
		t.Helper()
		for _, typ := range []Type{Text, JSON, Memory, Result, Stream} {
			for _, key := range []string{"k-" + string(typ), "k-" + string(typ) + ".json"} {
				if got := w.ref(Global, key).Type; got != typ {
					t.Fatalf("%s has type %s", key, got)
				}
			}
		}
	}
	check()
	w.restart()
	check()
	w.crash()
	check()
}

func TestOverwritingKeepsTheType(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		if _, err := w.Set(bg, "m", "1", SetOptions{Scope: scope, Type: Memory}); err != nil {
			t.Fatal(err)
		}
		w.set(scope, "m", "2")
		w.mustSave(string(scope)+"/m", "3")
		if got := w.ref(scope, "m").Type; got != Memory {
			t.Fatalf("%s: type %s", scope, got)
		}
	}
}

func TestANewVariableDoesNotInheritARemovedOnesType(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		if _, err := w.Set(bg, "m", "1", SetOptions{Scope: scope, Type: Memory}); err != nil {
			t.Fatal(err)
		}
		if err := w.Delete(bg, scope, "m"); err != nil {
			t.Fatal(err)
		}
		w.set(scope, "m", "2")
		if got := w.ref(scope, "m").Type; got != Text {
			t.Fatalf("%s: type %s", scope, got)
		}
	}
	// Removed by another program, while nobody looked.
	if _, err := w.Set(bg, "o", "1", SetOptions{Type: Result}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.file("global/o")); err != nil {
		t.Fatal(err)
	}
	w.set(Global, "o", "2")
	if got := w.ref(Global, "o").Type; got != Text {
		t.Fatalf("type %s", got)
	}
}

func TestBadKeysScopesAndTypesAreRefused(t *testing.T) {
	w := openWorld(t, Options{})
	for _, key := range []string{"", ".hidden", "a/b", "a\nb", "a\x7fb", "a\u0085b", "a\x00b", "\xff", strings.Repeat("k", 201)} {
		_, err := w.Set(bg, key, "x", SetOptions{})
		wantRefusal(t, err, syscall.EINVAL)
		if _, err := w.Get(bg, Global, key); err == nil {
			t.Errorf("get of key %q succeeds", key)
		}
	}
	for _, key := range []string{"k", "größe", "a b", "#x#", "~", strings.Repeat("k", 200)} {
		w.set(Global, key, key)
		w.want(Global, key, key)
	}
	for _, scope := range []Scope{"local", "agent:", "session:", "agent:../x", "session:a/b", "agent:.x", "self", "Global"} {
		_, err := w.Set(bg, "k", "x", SetOptions{Scope: scope})
		wantRefusal(t, err, syscall.EINVAL)
	}
	_, err := w.Set(bg, "k", "x", SetOptions{Type: "blob"})
	wantRefusal(t, err, syscall.EINVAL)
	w.want(Global, "k", "k")
}

func TestARefIsShortWhateverTheSize(t *testing.T) {
	w := openWorld(t, Options{})
	key := strings.Repeat("k", 100)
	scope := SessionScope(strings.Repeat("s", 60))
	ref, err := w.Set(bg, key, strings.NewReader(strings.Repeat("x", 3<<20)), SetOptions{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(ref.JSON()); n >= 300 {
		t.Fatalf("%d bytes: %s", n, ref.JSON())
	}
	back, err := ParseRef(ref.JSON())
	if err != nil || back != ref {
		t.Fatalf("%+v, %v; want %+v", back, err, ref)
	}
	var fields map[string]any
	if err := json.Unmarshal(ref.JSON(), &fields); err != nil || len(fields) != 6 || fields["sizeBytes"] != float64(3<<20) {
		t.Fatalf("fields %v, %v", fields, err)
	}
}

func TestARefNamesOneValue(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		ref := w.set(scope, "k", "one")
		if got, err := w.Resolve(bg, ref); err != nil || string(got) != "one" {
			t.Fatalf("%q, %v", got, err)
		}
		if again := w.ref(scope, "k"); again != ref {
			t.Fatalf("ref %+v, want %+v", again, ref)
		}
		w.set(scope, "k", "two")
		_, err := w.Resolve(bg, ref)
		wantRefusal(t, err, syscall.ESTALE)
		now := w.ref(scope, "k")
		if err := w.Delete(bg, scope, "k"); err != nil {
			t.Fatal(err)
		}
		_, err = w.Resolve(bg, now)
		wantRefusal(t, err, syscall.ENOENT)
		// The same content again is another value.
		w.set(scope, "k", "two")
		_, err = w.Resolve(bg, now)
		wantRefusal(t, err, syscall.ESTALE)
	}
}

func TestRefsOfFilesSurviveARestartAndThoseOfSessionsDoNot(t *testing.T) {
	w := openWorld(t, Options{})
	file, mem := w.set(Global, "k", "file"), w.set("session:s1", "k", "memory")
	w.restart()
	if got, err := w.Resolve(bg, file); err != nil || string(got) != "file" {
		t.Fatalf("%q, %v", got, err)
	}
	_, err := w.Resolve(bg, mem)
	wantRefusal(t, err, syscall.ENOENT)
	w.set("session:s1", "k", "memory")
	_, err = w.Resolve(bg, mem)
	wantRefusal(t, err, syscall.ESTALE)
}

func TestAnEditByAnotherProgramEndsARefAndShowsWithinASecond(t *testing.T) {
	c := newClock()
	w := openWorld(t, Options{Now: c.now})
	ref := w.set(Global, "k", "one")
	w.ref(Global, "k")
	if err := os.WriteFile(w.file("global/k"), []byte("edited"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := w.Resolve(bg, ref)
	wantRefusal(t, err, syscall.ESTALE)
	c.advance(MetadataAge + time.Millisecond)
	if got := w.ref(Global, "k"); got.SizeBytes != 6 || got.ID == ref.ID {
		t.Fatalf("ref %+v", got)
	}
	w.want(Global, "k", "edited")
	if err := os.WriteFile(w.file("global/new.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := w.ref(Global, "new.json"); got.Type != JSON {
		t.Fatalf("ref %+v", got)
	}
}

func TestAReaderKeepsTheVersionItOpened(t *testing.T) {
	w := openWorld(t, Options{MemoryCeiling: 1})
	for _, scope := range scopes {
		for _, size := range []int{10, 50000} {
			old := strings.Repeat("o", size)
			w.set(scope, "k", old)
			c, err := w.Open(bg, scope, "k")
			if err != nil {
				t.Fatal(err)
			}
			w.set(scope, "k", "new")
			if err := w.Delete(bg, scope, "k"); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
			if err := errors.Join(err, c.Close()); err != nil || string(got) != old {
				t.Fatalf("%s: %.20q, %v", scope, got, err)
			}
		}
	}
}

func TestInvalidJSONIsRefusedAndTheOldValueStays(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		w.set(scope, "x.json", `{"a":1}`)
		_, err := w.Set(bg, "x.json", "{\"a\":1,\n}", SetOptions{Scope: scope})
		if r := wantRefusal(t, err, syscall.EINVAL); r.Line != 2 || r.Path != "vars/"+string(scope)+"/x.json" {
			t.Fatalf("%+v", r)
		}
		_, err = w.Set(bg, "x.json", strings.NewReader(strings.Repeat("[", 2<<20)), SetOptions{Scope: scope})
		wantRefusal(t, err, syscall.EINVAL)
		w.want(scope, "x.json", `{"a":1}`)
		if _, err := w.Set(bg, "plain", "{", SetOptions{Scope: scope, Type: JSON}); err == nil {
			t.Fatal("accepted")
		}
		w.wantNone(scope, "plain")
		if _, err := w.Set(bg, "text.json", "{", SetOptions{Scope: scope, Type: Text}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestListFiltersAndPages(t *testing.T) {
	w := openWorld(t, Options{})
	for _, k := range []string{"a.json", "b", "c.json", "d"} {
		for _, scope := range scopes {
			w.set(scope, k, "{}")
		}
	}
	tests := []struct {
		f    Filter
		want int
	}{
		{Filter{}, 12},
		{Filter{Scope: Global}, 4},
		{Filter{Scope: "agent:nobody"}, 0},
		{Filter{Type: JSON}, 6},
		{Filter{Scope: "session:s1", Type: Text, Prefix: "b"}, 1},
		{Filter{Limit: 5}, 5},
		{Filter{After: Place{Global, "b"}}, 6},
		{Filter{After: Place{Global, "b"}, Limit: 3}, 3},
	}
	for _, tt := range tests {
		got, err := w.List(bg, tt.f)
		if err != nil || len(got) != tt.want {
			t.Errorf("%+v: %d variables, %v; want %d", tt.f, len(got), err, tt.want)
		}
		for i := 1; i < len(got); i++ {
			a, b := got[i-1], got[i]
			if a.Scope > b.Scope || a.Scope == b.Scope && a.Key >= b.Key {
				t.Errorf("%+v: %s/%s before %s/%s", tt.f, a.Scope, a.Key, b.Scope, b.Key)
			}
		}
	}
	if _, err := w.List(bg, Filter{Scope: "nowhere"}); err == nil {
		t.Error("an unknown scope is listed")
	}
}

func TestRefStatAndListReadNoContent(t *testing.T) {
	w := openWorld(t, Options{SpillAbove: 10})
	for _, scope := range scopes {
		w.set(scope, "small", "x")
		w.set(scope, "large", strings.Repeat("x", 100000))
		if _, err := w.Append(bg, "stream", []byte("line\n"), SetOptions{Scope: scope}); err != nil {
			t.Fatal(err)
		}
	}
	w.store.reads.Store(0)
	for _, scope := range scopes {
		for _, key := range []string{"small", "large", "stream"} {
			w.ref(scope, key)
			for _, dir := range []string{"", ".ref/", ".summary/"} {
				if _, err := w.Room().Stat(bg, string(scope)+"/"+dir+key); err != nil {
					t.Fatal(err)
				}
			}
			w.read(w.Room(), string(scope)+"/.ref/"+key)
		}
		w.names(w.Room(), string(scope))
		w.names(w.Room(), string(scope)+"/.ref")
		w.read(w.Room(), string(scope)+"/.list")
	}
	w.names(w.Room(), "")
	if _, err := w.List(bg, Filter{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Status(bg); err != nil {
		t.Fatal(err)
	}
	if n := w.store.reads.Load(); n != 0 {
		t.Fatalf("%d contents were opened", n)
	}
	w.want(Global, "small", "x")
	if n := w.store.reads.Load(); n != 1 {
		t.Fatalf("the count counts %d for one read", n)
	}
}

func TestDeleteOfNothingIsNotFound(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		if err := w.Delete(bg, scope, "none"); !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("%s: %v", scope, err)
		}
	}
}

func TestAFullDiskIsToldAndTheOldValueStays(t *testing.T) {
	w := openWorld(t, Options{MemoryCeiling: 100})
	for _, scope := range scopes {
		w.set(scope, "k", "old")
		w.set(scope, "m", "old")
		w.store.full.Store(true)
		for _, next := range []string{strings.Repeat("x", 200), strings.Repeat("x", 40000), strings.Repeat("x", 2<<20)} {
			if _, err := w.Set(bg, "k", next, SetOptions{Scope: scope}); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("%s: %v", scope, err)
			}
			if err := w.save(string(scope)+"/m", next); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("%s: %v", scope, err)
			}
		}
		w.store.full.Store(false)
		w.want(scope, "k", "old")
		w.want(scope, "m", "old")
		w.set(scope, "k", "new")
		w.want(scope, "k", "new")
	}
}

func TestAPutWhoseEndNobodyKnowsIsTriedAgain(t *testing.T) {
	w := openWorld(t, Options{})
	for _, text := range []string{"small", strings.Repeat("large", 1<<20)} {
		w.set(Global, "k", "old")
		w.store.lost.Store(1)
		ref, err := w.Set(bg, "k", text, SetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.Resolve(bg, ref); err != nil || string(got) != text {
			t.Fatalf("%.20q, %v", got, err)
		}
	}
}

func TestAWriterStreamsAndShowsNothingBeforeCommit(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		wr, err := w.Create("big", SetOptions{Scope: scope, Type: Result})
		if err != nil {
			t.Fatal(err)
		}
		chunk := bytes.Repeat([]byte("0123456789"), 100000)
		for range 5 {
			if _, err := wr.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
		w.wantNone(scope, "big")
		ref, err := wr.Commit(bg)
		if err != nil || ref.SizeBytes != 5000000 || ref.Type != Result {
			t.Fatalf("%+v, %v", ref, err)
		}
		c, err := w.OpenRef(bg, ref)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 4)
		if _, err := c.ReadAt(p, 4000006); err != nil || string(p) != "6789" {
			t.Fatalf("%q, %v", p, err)
		}
		if err := errors.Join(c.Close(), wr.Close()); err != nil {
			t.Fatal(err)
		}
		dropped, err := w.Create("none", SetOptions{Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dropped.Write(chunk); err != nil {
			t.Fatal(err)
		}
		if err := dropped.Close(); err != nil {
			t.Fatal(err)
		}
		w.wantNone(scope, "none")
	}
}
