package variables

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func (w *world) spillFiles() int {
	w.t.Helper()
	names, err := os.ReadDir(filepath.Join(w.dir, ".ctxfs", "vars-spill"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return len(names)
}

func (w *world) status() Status {
	w.t.Helper()
	s, err := w.Status(bg)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestASmallSessionVariableStaysInMemoryAndALargeOneDoesNot(t *testing.T) {
	w := openWorld(t, Options{})
	w.set("session:s1", "small", strings.Repeat("x", DefaultSpillAbove))
	if s := w.status(); s.MemoryBytes != DefaultSpillAbove || s.Spilled != 0 || s.Variables != 1 || w.spillFiles() != 0 {
		t.Fatalf("%+v, %d files", s, w.spillFiles())
	}
	w.set("session:s1", "large", strings.Repeat("x", DefaultSpillAbove+1))
	if s := w.status(); s.Spilled != 1 || s.SpilledBytes != DefaultSpillAbove+1 || w.spillFiles() != 1 {
		t.Fatalf("%+v, %d files", s, w.spillFiles())
	}
	w.set(Global, "file", "x")
	if s := w.status(); s.Variables != 3 || s.MemoryLimit != DefaultMemoryCeiling {
		t.Fatalf("%+v", s)
	}
}

func TestAboveTheCeilingTheLeastRecentlyUsedSpill(t *testing.T) {
	w := openWorld(t, Options{MemoryCeiling: 3000})
	text := func(i int) string { return strings.Repeat(fmt.Sprint(i), 1000) }
	for i := range 3 {
		w.set("session:s1", fmt.Sprint(i), text(i))
	}
	w.want("session:s1", "0", text(0)) // used: 1 is the oldest now
	w.set("session:s1", "3", text(3))
	spilled := func() (keys string) {
		t.Helper()
		all, err := w.List(bg, Filter{Scope: "session:s1"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.Spilled {
				keys += m.Key
			}
		}
		return keys
	}
	if got := spilled(); got != "1" {
		t.Fatalf("spilled: %q, want 1", got)
	}
	ref := w.ref("session:s1", "2")
	w.set("session:s1", "4", text(4))
	w.set("session:s1", "5", text(5))
	if got := spilled(); got != "012" {
		t.Fatalf("spilled: %q, want 012", got)
	}
	for i := range 6 {
		w.want("session:s1", fmt.Sprint(i), text(i))
	}
	if got, err := w.Resolve(bg, ref); err != nil || string(got) != text(2) {
		t.Fatalf("a ref does not survive spilling: %.10q, %v", got, err)
	}
	if s := w.status(); s.MemoryBytes > 3000 || s.Spilled != 3 || s.Variables != 6 {
		t.Fatalf("%+v", s)
	}
}

func TestSpillFilesGoWithTheirVariables(t *testing.T) {
	w := openWorld(t, Options{MemoryCeiling: 1})
	for i := range 10 {
		w.set("session:s1", fmt.Sprint(i), "text")
		w.set("session:s1", fmt.Sprint(i), "next")
	}
	if n := w.spillFiles(); n != 10 {
		t.Fatalf("%d files of 10 variables", n)
	}
	if err := w.Delete(bg, "session:s1", "0"); err != nil {
		t.Fatal(err)
	}
	if n, err := w.ClearSession(bg, "session:s1"); n != 9 || err != nil {
		t.Fatalf("%d cleared, %v", n, err)
	}
	if s := w.status(); s.Variables != 0 || s.MemoryBytes != 0 || s.Spilled != 0 || s.SpilledBytes != 0 || w.spillFiles() != 0 {
		t.Fatalf("%+v, %d files", s, w.spillFiles())
	}
}

func TestSessionsEndWithARestartUnlessPersisted(t *testing.T) {
	for name, end := range map[string]func(*world){"restart": (*world).restart, "kill": (*world).crash} {
		t.Run(name, func(t *testing.T) {
			w := openWorld(t, Options{})
			w.set("session:s1", "gone", "x")
			w.set("session:s1", "large", strings.Repeat("x", 100000))
			if _, err := w.Set(bg, "kept", "y", SetOptions{Scope: "session:s1", Persist: true, Type: Memory}); err != nil {
				t.Fatal(err)
			}
			w.set("session:s1", "kept", "z") // stays a file
			end(w)
			w.wantNone("session:s1", "gone")
			w.wantNone("session:s1", "large")
			w.want("session:s1", "kept", "z")
			if got := w.ref("session:s1", "kept").Type; got != Memory {
				t.Fatalf("type %s", got)
			}
			if n := w.spillFiles(); n != 0 {
				t.Fatalf("%d spill files stay", n)
			}
		})
	}
}

func TestPersistCanBeChanged(t *testing.T) {
	w := openWorld(t, Options{})
	for _, size := range []int{10, 100000} {
		text := strings.Repeat("p", size)
		if _, err := w.Set(bg, "k", text, SetOptions{Scope: "session:s1", Type: Result}); err != nil {
			t.Fatal(err)
		}
		for _, persist := range []bool{true, true, false, false, true} {
			if err := w.SetPersist(bg, "session:s1", "k", persist); err != nil {
				t.Fatal(err)
			}
			m, err := w.Stat(bg, "session:s1", "k")
			if err != nil || m.Persist != persist || m.Type != Result {
				t.Fatalf("%+v, %v", m, err)
			}
			w.want("session:s1", "k", text)
			if s := w.status(); s.Variables != 1 {
				t.Fatalf("%+v", s)
			}
		}
		if err := w.Delete(bg, "session:s1", "k"); err != nil {
			t.Fatal(err)
		}
	}
	w.set(Global, "k", "x")
	if err := w.SetPersist(bg, Global, "k", false); err == nil {
		t.Fatal("a global variable is taken into memory")
	}
}

// TestAThousandMegabytesFitBelowASmallCeiling is the issue's own case, at a
// quarter of its size to be quick.
func TestAThousandMegabytesFitBelowASmallCeiling(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 250 MB")
	}
	const ceiling, count, size = 16 << 20, 250, 1 << 20
	w := openWorld(t, Options{MemoryCeiling: ceiling})
	block := bytes.Repeat([]byte{'m'}, size)
	var mem runtime.MemStats
	for i := range count {
		copy(block, fmt.Sprintf("%8d", i))
		if _, err := w.Set(bg, fmt.Sprint(i), bytes.NewReader(block), SetOptions{Scope: "session:s1"}); err != nil {
			t.Fatal(err)
		}
		w.set("session:s2", fmt.Sprint(i), string(block[:32000]))
		runtime.ReadMemStats(&mem)
		if used := mem.HeapInuse + mem.StackInuse; used > ceiling+60<<20 {
			t.Fatalf("after %d variables %d MB are in use", i, used>>20)
		}
	}
	for i := range count {
		copy(block, fmt.Sprintf("%8d", i))
		w.want("session:s2", fmt.Sprint(i), string(block[:32000]))
		c, err := w.Open(bg, "session:s1", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
		if err := errors.Join(err, c.Close()); err != nil || !bytes.Equal(got, block) {
			t.Fatalf("variable %d came back changed, %v", i, err)
		}
	}
}

func TestConcurrentSetsAndGetsSeeWholeValues(t *testing.T) {
	w := openWorld(t, Options{MemoryCeiling: 20000})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 60 {
				scope := scopes[(g+i)%3]
				key := fmt.Sprint(i % 5)
				text := strings.Repeat(fmt.Sprint(g), 1+(g*i*997)%5000)
				if _, err := w.Set(bg, key, text, SetOptions{Scope: scope}); err != nil {
					t.Error(err)
				}
				got, err := w.Get(bg, scope, key)
				if err == nil && strings.Trim(string(got), string(got[:1])) != "" {
					t.Errorf("a value mixed of several: %.40q", got)
				}
				if i%10 == 9 {
					err = w.Delete(bg, scope, key)
				}
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
				if _, err := w.Promote(bg, scope, fmt.Sprint((i+1)%5), scopes[(g+i+1)%3]); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range scopes {
		if s.session() {
			if _, err := w.ClearSession(bg, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := w.status(); s.MemoryBytes != 0 || s.Spilled != 0 || w.spillFiles() != 0 {
		t.Fatalf("after all sessions: %+v, %d files", s, w.spillFiles())
	}
}
