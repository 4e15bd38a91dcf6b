package variables

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ctxfs/backing"
)

// what describes a variable by content and type; "" is none.
func (w *world) what(scope Scope, key string) string {
	w.t.Helper()
	text, err := w.Get(bg, scope, key)
	if errors.Is(err, backing.ErrNotFound) {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(w.ref(scope, key).Type) + " " + string(text)
}

// TestAKillBetweenAnyTwoChangesLeavesTheOldOrTheNewVariable stops the process
// before each change of the store in turn.
func TestAKillBetweenAnyTwoChangesLeavesTheOldOrTheNewVariable(t *testing.T) {
	set := func(scope Scope, text string, typ Type) func(*world) error {
		return func(w *world) error {
			_, err := w.Set(bg, "k", text, SetOptions{Scope: scope, Type: typ, Persist: true})
			return err
		}
	}
	promote := func(w *world) error {
		_, err := w.Promote(bg, "agent:a", "k", Global)
		return err
	}
	both := func(a, b func(*world) error) func(*world) error {
		return func(w *world) error { return errors.Join(a(w), b(w)) }
	}
	none := func(*world) error { return nil }
	tests := []struct {
		name       string
		before, do func(*world) error
		old, new   [2]string // in agent:a and global
	}{
		{"a new one", none, set(Global, "x", Memory), [2]string{"", ""}, [2]string{"", "memory x"}},
		{"another type", set(Global, "o", Memory), set(Global, "x", Result), [2]string{"", "memory o"}, [2]string{"", "result x"}},
		{"a type of its own", set(Global, "o", ""), set(Global, "x", Result), [2]string{"", "text o"}, [2]string{"", "result x"}},
		{"the key's type again", set(Global, "o", Memory), set(Global, "x", Text), [2]string{"", "memory o"}, [2]string{"", "text x"}},
		{"removal", set(Global, "o", Memory), func(w *world) error { return w.Delete(bg, Global, "k") }, [2]string{"", "memory o"}, [2]string{"", ""}},
		{"promotion", set("agent:a", "o", Memory), promote, [2]string{"memory o", ""}, [2]string{"", "memory o"}},
		{"promotion over another", both(set(Global, "g", Result), set("agent:a", "o", "")), promote, [2]string{"text o", "result g"}, [2]string{"", "result o"}},
		{"promotion of a type", both(set(Global, "g", ""), set("agent:a", "o", Memory)), promote, [2]string{"memory o", "text g"}, [2]string{"", "memory o"}},
		{"promotion of a stream", both(set(Global, "g", ""), set("agent:a", "o", Stream)), promote, [2]string{"stream o", "text g"}, [2]string{"", "stream o"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for at := int64(1); ; at++ {
				w := openWorld(t, Options{})
				if err := tt.before(w); err != nil {
					t.Fatal(err)
				}
				w.store.lives.Store(at)
				err := tt.do(w)
				done := w.store.lives.Load() > 1
				w.crash()
				got := [2]string{w.what("agent:a", "k"), w.what(Global, "k")}
				if got != tt.new && (got != tt.old || err == nil) {
					t.Fatalf("killed before change %d (%v): %q, want %q or %q", at, err, got, tt.old, tt.new)
				}
				// Whatever was left behind does not stick to the next one.
				for _, scope := range []Scope{"agent:a", Global} {
					if w.what(scope, "k") == "" {
						w.set(scope, "k", "x")
						if got := w.what(scope, "k"); got != "text x" {
							t.Fatalf("killed before change %d: a new variable is %q", at, got)
						}
					}
				}
				if done {
					return
				}
				if at > 20 {
					t.Fatal("it never comes to an end")
				}
			}
		})
	}
}

func TestATornLineOfTheTypesIsNoHarm(t *testing.T) {
	w := openWorld(t, Options{})
	for i := range 300 { // so often that the file is written anew
		typ := []Type{Memory, Result}[i%2]
		if _, err := w.Set(bg, "k", fmt.Sprint(i), SetOptions{Type: typ}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(w.dir, ".ctxfs", "vars", "global.jsonl")
	text, err := os.ReadFile(path)
	if err != nil || len(text) > 60000 {
		t.Fatalf("%d bytes for one variable, %v", len(text), err)
	}
	if err := os.WriteFile(path, append(text, `{"key":"k","ty`...), 0o600); err != nil {
		t.Fatal(err)
	}
	w.crash()
	if got := w.what(Global, "k"); got != "result 299" {
		t.Fatalf("%q", got)
	}
	if _, err := w.Set(bg, "k2", "x", SetOptions{Type: Memory}); err != nil {
		t.Fatal(err)
	}
	w.crash()
	if got := w.what(Global, "k") + ", " + w.what(Global, "k2"); got != "result 299, memory x" {
		t.Fatalf("%q", got)
	}
}

func TestALostFileOfTypesFallsBackToTheKeys(t *testing.T) {
	w := openWorld(t, Options{})
	for _, key := range []string{"k", "k.json"} {
		if _, err := w.Set(bg, key, "{}", SetOptions{Type: Memory}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(w.dir, ".ctxfs", "vars", "global.jsonl")); err != nil {
		t.Fatal(err)
	}
	w.crash()
	if got := w.what(Global, "k") + ", " + w.what(Global, "k.json"); got != "text {}, json {}" {
		t.Fatalf("%q", got)
	}
}
