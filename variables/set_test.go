package variables

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

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

func TestDeleteOfNothingIsNotFound(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		if err := w.Delete(bg, scope, "none"); !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("%s: %v", scope, err)
		}
	}
}
