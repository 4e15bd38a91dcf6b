package variables

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// sharing is a store that says that others write it too.
type sharing struct{ *watched }

func (sharing) Shared() {}

// hosts are the variables of two hosts on one store, each of which hears what
// the other does.
func hosts(t *testing.T) (a, b *Variables) {
	t.Helper()
	w := openWorld(t, Options{})
	open := func() *Variables {
		v, err := New(sharing{w.store}, w.o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- v.Watch(ctx, func(string, bool) {}) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
		return v
	}
	return open(), open()
}

func TestATypeThatAnotherHostGivesIsSeen(t *testing.T) {
	a, b := hosts(t)
	set := func(v *Variables, key string, typ Type, text string) {
		t.Helper()
		if _, err := v.Set(bg, key, []byte(text), SetOptions{Scope: Global, Type: typ}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(v *Variables, key string, typ Type) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; {
			ref, err := v.Ref(bg, Global, key)
			if err != nil {
				t.Fatal(err)
			}
			if ref.Type == typ {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s is %s, not %s", key, ref.Type, typ)
			}
		}
	}
	set(a, "k", "", "text")
	want(b, "k", Text)
	set(a, "k", Memory, "what is remembered")
	want(b, "k", Memory)
	// Each writes the notes of types anew several times.
	for n := range 50 {
		for name, v := range map[string]*Variables{"a": a, "b": b} {
			set(v, name, []Type{Memory, Result}[n%2], fmt.Sprint(name, n))
		}
	}
	for _, key := range []string{"a", "b"} {
		want(a, key, Result)
		want(b, key, Result)
	}
	want(a, "k", Memory)
	want(b, "k", Memory)
}
