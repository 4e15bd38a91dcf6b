package localdir

import (
	"log/slog"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB) backing.Store { return newStore(t) })
}

func TestStoreWithoutOpenat2(t *testing.T) {
	storetest.Run(t, func(t testing.TB) backing.Store { return walking(newStore(t)) })
}

func TestFiles(t *testing.T) {
	storetest.RunFiles(t, func(t testing.TB) backing.Store { return newStore(t) })
}

func TestFilesWithoutOpenat2(t *testing.T) {
	storetest.RunFiles(t, func(t testing.TB) backing.Store { return walking(newStore(t)) })
}

// newStore opens an empty store, which the test closes.
func newStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, t.TempDir(), Options{})
}

func openStore(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// walking makes s go the way of a kernel without openat2(2).
func walking(s *Store) *Store {
	s.tree.walk = true
	return s
}
