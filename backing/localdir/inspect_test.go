package localdir

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/backing"
)

func TestWhatAStoreKeepsForItselfCanBeInspected(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, key := range []backing.Key{"a", "a/b"} {
		if _, err := s.MakeDir(ctx, key, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []backing.Key{"a/x", "a/x", "a/b/y", "a/b/y", "a/once"} {
		if _, err := s.Put(ctx, key, strings.NewReader("text"), backing.PutOptions{KeepVersion: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remove(ctx, "a/b/y", ""); err != nil {
		t.Fatal(err)
	}
	var keys []backing.Key
	err = s.Versioned(ctx, func(k backing.Key) error { keys = append(keys, k); return nil })
	if slices.Sort(keys); err != nil || !slices.Equal(keys, []backing.Key{"a/b/y", "a/x"}) {
		t.Errorf("versions are kept of %q, %v", keys, err)
	}
	if err := os.WriteFile(filepath.Join(dir, string(stagingDir), "left"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, size, err := s.Staged(ctx); n != 1 || size != 5 || err != nil {
		t.Errorf("staged are %d files with %d bytes, %v", n, size, err)
	}
	if held, err := Written(dir); !held || err != nil {
		t.Errorf("that it is written is told as %v, %v", held, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if held, err := Written(dir); held || err != nil {
		t.Errorf("that nobody writes it is told as %v, %v", held, err)
	}
	if held, err := Written(t.TempDir()); held || err != nil {
		t.Errorf("of a directory that is no store it says %v, %v", held, err)
	}
}
