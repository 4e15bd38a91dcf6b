package index

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCheckKnowsAnIndexFromSomethingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.sqlite")
	if err := Check(t.Context(), path); err != nil {
		t.Errorf("of one that is not there: %v", err)
	}
	db, _, err := openWriter(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), path); err != nil {
		t.Errorf("of a sound one, while it is open: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), path); !IsDamaged(err) {
		t.Errorf("of a damaged one: %v", err)
	}
	if err := Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
}
