package variables

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
