package postgres

import (
	"context"
	"log/slog"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/postgres/pgtest"
	"ctxfs/backing/storetest"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Options{}) }

func TestStore(t *testing.T) {
	pgtest.Shared(t)
	storetest.Run(t, func(t testing.TB) backing.Store { return openStore(t, pgtest.Schema(t)+"&pool_max_conns=4", Options{}) })
}

// openStore opens a store, which the test closes.
func openStore(t testing.TB, url string, o Options) *Store {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := Open(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
