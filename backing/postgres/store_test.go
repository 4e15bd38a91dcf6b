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

// openStore opens a store, which the test closes; where o has no timeout, with
// a long one.
func openStore(t testing.TB, url string, o Options) *Store {
	t.Helper()
	if o.Timeout == 0 { // the default is not for machines that stall
		o.Timeout = patience
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := Open(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
