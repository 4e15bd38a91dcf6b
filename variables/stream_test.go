package variables

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ctxfs/backing"
	"ctxfs/room"
)

func TestANewVariableOpenedForAppendingIsAStream(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		f := w.create(string(scope)+"/log", os.O_APPEND)
		if _, ok := f.(room.Draft); ok {
			t.Fatal("it is a draft")
		}
		if info, err := w.Room().Stat(bg, string(scope)+"/log"); err != nil || info.Kind != room.Plain {
			t.Fatalf("%+v, %v", info, err)
		}
		if _, err := f.WriteAt([]byte("a\n"), 0); err != nil {
			t.Fatal(err)
		}
		w.want(scope, "log", "a\n") // before close
		if _, err := f.WriteAt([]byte("b\n"), 0); err != nil {
			t.Fatal(err)
		}
		w.want(scope, "log", "a\nb\n")
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := w.ref(scope, "log"); got.Type != Stream || got.SizeBytes != 4 {
			t.Fatalf("%+v", got)
		}
		if f := w.create(string(scope)+"/x.json", os.O_APPEND); f.(room.Draft).Close() != nil {
			t.Fatal("json opened for appending is no draft")
		}
	}
	w.crash()
	w.want(Global, "log", "a\nb\n")
	if got := w.ref(Global, "log"); got.Type != Stream {
		t.Fatalf("%+v", got)
	}
}

func TestAReaderOfAStreamSeesItGrow(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		if _, err := w.Append(bg, "log", []byte("one\n"), SetOptions{Scope: scope}); err != nil {
			t.Fatal(err)
		}
		r, _, err := w.Room().Write(bg, alice, string(scope)+"/log", room.Create{Flags: os.O_RDONLY})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 100)
		n, _ := r.ReadAt(p, 0)
		if _, err := w.Append(bg, "log", []byte("two\n"), SetOptions{Scope: scope}); err != nil {
			t.Fatal(err)
		}
		m, _ := r.ReadAt(p[n:], int64(n))
		if got := string(p[:n+m]); got != "one\ntwo\n" {
			t.Fatalf("%s: %q", scope, got)
		}
		if s, err := r.(backing.File).Stat(); err != nil || s.Size != 8 {
			t.Fatalf("%+v, %v", s, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAStreamsRefStaysGoodWhileItGrowsAndEndsWhenItIsCut(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		ref, err := w.Append(bg, "log", []byte("one\n"), SetOptions{Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		more, err := w.Append(bg, "log", []byte("two\n"), SetOptions{Scope: scope})
		if err != nil || more.ID != ref.ID || more.SizeBytes != 8 || !more.Created.Equal(ref.Created) {
			t.Fatalf("%+v, %v; want %+v grown", more, err, ref)
		}
		if got, err := w.Resolve(bg, ref); err != nil || string(got) != "one\ntwo\n" {
			t.Fatalf("%q, %v", got, err)
		}
		if !scope.session() {
			w.restart()
			if got, err := w.Resolve(bg, ref); err != nil || string(got) != "one\ntwo\n" {
				t.Fatalf("after a restart: %q, %v", got, err)
			}
		}
		for _, cut := range []func() error{
			func() error { return w.create(string(scope)+"/log", os.O_TRUNC).Close() },
			func() error {
				f := w.create(string(scope)+"/log", os.O_APPEND)
				_, err := f.WriteAt([]byte("x"), 0)
				return errors.Join(err, f.Truncate(0), f.Close())
			},
			func() error { _, err := w.Set(bg, "log", "other", SetOptions{Scope: scope}); return err },
		} {
			old := w.ref(scope, "log")
			if err := cut(); err != nil {
				t.Fatal(err)
			}
			_, err = w.Resolve(bg, old)
			wantRefusal(t, err, syscall.ESTALE)
			if _, err := w.Append(bg, "log", []byte("again\n"), SetOptions{Scope: scope}); err != nil {
				t.Fatal(err)
			}
		}
		w.want(scope, "log", "otheragain\n")
	}
}

func TestEightAppendersTearNoLine(t *testing.T) {
	w := openWorld(t, Options{})
	const each = 100
	for _, scope := range scopes {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				line := strings.Repeat(fmt.Sprint(g), 300+g) + "\n"
				if g%2 == 0 {
					for range each {
						if _, err := w.Append(bg, "log", []byte(line), SetOptions{Scope: scope}); err != nil {
							t.Error(err)
						}
					}
					return
				}
				f, _, err := w.Room().Write(bg, alice, string(scope)+"/log", room.Create{New: true, Flags: os.O_APPEND | os.O_WRONLY})
				if err != nil {
					t.Error(err)
					return
				}
				for range each {
					if _, err := f.WriteAt([]byte(line), 0); err != nil {
						t.Error(err)
					}
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		count := map[byte]int{}
		for line := range strings.Lines(w.read(w.Room(), string(scope)+"/log")) {
			g := line[0]
			if line != strings.Repeat(string(g), 300+int(g-'0'))+"\n" {
				t.Fatalf("torn: %.40q", line)
			}
			count[g]++
		}
		for g := byte('0'); g < '8'; g++ {
			if count[g] != each {
				t.Fatalf("%d lines of appender %c", count[g], g)
			}
		}
	}
}

func TestAppendingThroughTheLibraryKeepsOtherTypes(t *testing.T) {
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		if _, err := w.Set(bg, "m", "one", SetOptions{Scope: scope, Type: Memory}); err != nil {
			t.Fatal(err)
		}
		ref, err := w.Append(bg, "m", []byte(" two"), SetOptions{Scope: scope})
		if err != nil || ref.Type != Memory {
			t.Fatalf("%+v, %v", ref, err)
		}
		w.want(scope, "m", "one two")
	}
	if err := w.Sync(bg, Global, "m"); err != nil {
		t.Fatal(err)
	}
}
