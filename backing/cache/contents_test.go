package cache

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"ctxfs/backing"
)

func contents(t *testing.T, most int64) *Contents {
	t.Helper()
	c := NewContents(t.TempDir(), most, slog.New(slog.NewTextHandler(t.Output(), nil)))
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// text is the content of the i-th key, up to 3 KB.
func text(i int) []byte { return bytes.Repeat([]byte(fmt.Sprint(i, " ")), i*37%1000) }

func key(i int) backing.Key { return backing.Key(fmt.Sprint("d/", i)) }

func TestTheNewestContentsStayAndNoneIsAnother(t *testing.T) {
	const most = 1 << 20
	c := contents(t, most)
	for i := range 2000 {
		c.Put(key(i), "1", text(i))
		if got, ok := c.Get(key(i), "1"); !ok || !bytes.Equal(got, text(i)) {
			t.Fatalf("content %d is not what was put: %v", i, ok)
		}
		if i%100 != 0 {
			continue
		}
		for j := range i {
			if got, ok := c.Get(key(j), "1"); ok && !bytes.Equal(got, text(j)) {
				t.Fatalf("content %d is another one, after %d were put", j, i)
			} else if !ok && i-j < most/pieceSize/2 {
				t.Fatalf("content %d is gone, after %d were put", j, i)
			}
		}
	}
	st, err := c.file.Stat()
	if err != nil || st.Size() > most {
		t.Errorf("the file has %d bytes, %v", st.Size(), err)
	}
	if len(c.places) > most/pieceSize || len(c.order) > most/pieceSize {
		t.Errorf("there are %d contents, in %d turns", len(c.places), len(c.order))
	}
}

func TestAContentIsFoundByItsRevisionOnly(t *testing.T) {
	c := contents(t, 1<<20)
	c.Put("a", "1", []byte("one"))
	c.Put("a", "2", []byte("two"))
	if _, ok := c.Get("a", "3"); ok {
		t.Error("there is one of a revision that never was")
	}
	c.Drop("a", "1")
	if c.Has("a", "1") || !c.Has("a", "2") {
		t.Error("another one was dropped")
	}
	c.Put("a", "1", []byte("one"))
	if got, ok := c.Get("a", "1"); !ok || string(got) != "one" {
		t.Errorf("it is %q", got)
	}
}

func TestTooLargeIsNotKeptAndEmptyIs(t *testing.T) {
	c := contents(t, 10_000)
	c.Put("a", "1", make([]byte, 10_001))
	c.Put("b", "1", nil)
	if got, ok := c.Get("b", "1"); c.Has("a", "1") || !ok || len(got) != 0 {
		t.Error("it is not so")
	}
}

func TestAfterTheEndNothingIsKept(t *testing.T) {
	c := contents(t, 1<<20)
	c.Put("a", "1", []byte("one"))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.Put("b", "1", []byte("one"))
	if c.Has("a", "1") || c.Has("b", "1") {
		t.Error("something is there")
	}
}

func TestContentsAreUsedByMany(t *testing.T) {
	c := contents(t, 200_000)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 3000 {
				k := (i*7 + n*13) % 500
				if got, ok := c.Get(key(k), "1"); ok && !bytes.Equal(got, text(k)) {
					t.Errorf("content %d is another one", k)
				}
				c.Put(key(k), "1", text(k))
				if i%50 == 0 {
					c.Drop(key(k), "1")
				}
			}
		})
	}
	all.Wait()
}
