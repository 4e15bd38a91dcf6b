package variables

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/room"
)

// counted is n bytes that are known by their position.
type counted struct{ off, n int64 }

func (c *counted) Read(p []byte) (int, error) {
	if c.off == c.n {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), c.n-c.off)]
	for at := 0; at < len(p); { // a block of 4 KiB at a time, since the race detector looks at each access
		pos := c.off + int64(at)
		block := p[at:min(int64(len(p)), int64(at)+4096-pos%4096)]
		block[0] = byte(pos >> 12 * 31)
		for n := 1; n < len(block); n *= 2 {
			copy(block[n:], block[:n])
		}
		at += len(block)
	}
	c.off += int64(len(p))
	return len(p), nil
}

// wantCounted reads c in ranges and compares.
func wantCounted(t *testing.T, c io.ReaderAt, n int64) {
	t.Helper()
	buf, want := make([]byte, 1<<20), make([]byte, 1<<20)
	for off := int64(0); off < n; off += int64(len(buf)) {
		got, err := c.ReadAt(buf, off)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		src := &counted{off, n}
		m, _ := src.Read(want)
		if got != m || string(buf[:got]) != string(want[:m]) {
			t.Fatalf("other bytes at %d", off)
		}
	}
}

// peak watches the heap until stop, which returns the most that was in use.
func peak() (stop func() uint64) {
	var most atomic.Uint64
	end, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse))
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(end)
		<-ended
		return most.Load()
	}
}

func TestALargeValueNeedsConstantMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 600 MB")
	}
	const size, allowed = 100 << 20, 40 << 20
	w := openWorld(t, Options{})
	for _, scope := range scopes {
		runtime.GC()
		stop := peak()
		ref, err := w.Set(bg, "set", &counted{n: size}, SetOptions{Scope: scope})
		if err != nil || ref.SizeBytes != size {
			t.Fatalf("%+v, %v", ref, err)
		}
		f := w.create(string(scope)+"/written", os.O_TRUNC)
		buf := make([]byte, 128<<10)
		for src, off := (&counted{n: size}), int64(0); off < size; off += int64(len(buf)) {
			if _, err := io.ReadFull(src, buf); err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(buf, off); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		wantCounted(t, f, size)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"set", "written"} {
			c, err := w.Open(bg, scope, key)
			if err != nil {
				t.Fatal(err)
			}
			wantCounted(t, c, size)
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Promote(bg, scope, key, "session:other"); err != nil {
				t.Fatal(err)
			}
			if err := w.Delete(bg, "session:other", key); err != nil {
				t.Fatal(err)
			}
		}
		if used := stop(); used > allowed {
			t.Fatalf("%s: %d MB of heap for a value of %d MB", scope, used>>20, size>>20)
		}
	}
}

func TestAReadOnlyStoreCanBeReadAndSaysSo(t *testing.T) {
	w := openWorld(t, Options{})
	if _, err := w.Set(bg, "k", "text", SetOptions{Type: Memory}); err != nil {
		t.Fatal(err)
	}
	s, err := localdir.Open(w.dir, localdir.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	v, err := New(s, w.o)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Get(bg, Global, "k"); err != nil || string(got) != "text" {
		t.Fatalf("%q, %v", got, err)
	}
	if ref, err := v.Ref(bg, Global, "k"); err != nil || ref != w.ref(Global, "k") {
		t.Fatalf("%+v, %v", ref, err)
	}
	if _, err := v.Set(bg, "k", "x", SetOptions{}); !errors.Is(err, backing.ErrReadOnly) {
		t.Fatal(err)
	}
	if _, _, err := v.Room().Write(bg, alice, "global/new", room.Create{New: true}); !errors.Is(err, backing.ErrReadOnly) {
		t.Fatal(err)
	}
	if err := errors.Join(v.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}
