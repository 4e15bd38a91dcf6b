package variables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
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

// between is a store in which something happens once, before the first put.
type between struct {
	sharing
	happens func()
}

func (b *between) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	if happens := b.happens; happens != nil {
		b.happens = nil
		happens()
	}
	return b.sharing.Put(ctx, key, r, o)
}

func TestAStreamThatTwoHostsBeginAtOnceKeepsWhatBothAppend(t *testing.T) {
	for name, begin := range map[string]func(*Variables) error{
		"by the library": func(v *Variables) error {
			_, err := v.Append(bg, "log", nil, SetOptions{Scope: Global})
			return err
		},
		"by opening": func(v *Variables) error {
			f, _, err := v.Room().Write(bg, room.Caller{Agent: "b"}, "global/log",
				room.Create{New: true, Flags: os.O_WRONLY | os.O_APPEND, Mode: 0o644})
			if err != nil {
				return err
			}
			return f.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWorld(t, Options{})
			a, err := New(sharing{w.store}, w.o)
			if err != nil {
				t.Fatal(err)
			}
			b, err := New(&between{sharing{w.store}, func() {
				if _, err := a.Append(bg, "log", []byte("of a\n"), SetOptions{Scope: Global}); err != nil {
					t.Error(err)
				}
			}}, w.o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := errors.Join(a.Close(), b.Close()); err != nil {
					t.Error(err)
				}
			}()
			if err := begin(b); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Append(bg, "log", []byte("of b\n"), SetOptions{Scope: Global}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(w.dir, "vars", "global", "log"))
			if err != nil || string(text) != "of a\nof b\n" {
				t.Fatalf("%q, %v", text, err)
			}
		})
	}
}
