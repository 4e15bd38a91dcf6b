package variables

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"
)

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
