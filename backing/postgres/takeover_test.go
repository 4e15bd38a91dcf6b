package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
	"ctxfs/backing/postgres/pgtest"
)

// cluster starts a server for one test.
func cluster(t *testing.T, settings ...string) *pgtest.Cluster {
	t.Helper()
	c, err := pgtest.Start(pgtest.Options{Settings: settings})
	must(t, err)
	t.Cleanup(func() { must(t, c.Stop()) })
	return c
}

// A server that crashes forgets the newest transactions where they changed
// nothing, and gives their numbers to others.
func TestAWatcherMissesNothingWhereACrashedServerUsesNumbersAgain(t *testing.T) {
	const forgotten, after = 200, 100
	ctx := context.Background()
	// With wal_level = replica the server notes the running transactions, and so
	// the newest number, every 15 seconds.
	c := cluster(t, "wal_writer_delay = 10s", "wal_level = minimal", "max_wal_senders = 0")
	proxy := pgtest.ProxyTo(t, c)
	one := closing(t, openStore(t, c.URL(), Options{}))
	two := closing(t, openStore(t, proxy.Through(t, c.URL()), Options{}))
	events := watch(t, two, "")
	mustPut(t, one, "a", "x")
	awaitKeys(t, events, "a")
	conn, err := pgx.Connect(ctx, c.URL())
	must(t, err)
	_, err = conn.Exec(ctx, strings.Repeat("BEGIN; SELECT pg_current_xact_id(); ROLLBACK;", forgotten))
	must(t, err)
	var last int64
	must(t, conn.QueryRow(ctx, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").Scan(&last))
	awaitPolls(proxy, 3)
	proxy.Refuse(true)
	must(t, c.Kill(syscall.SIGKILL))
	must(t, c.Restart())
	var keys []backing.Key
	for i := range forgotten + after {
		keys = append(keys, backing.Key(fmt.Sprint("k", i)))
		mustPut(t, one, keys[i], "x")
	}
	var first int64
	must(t, one.pool.QueryRow(ctx, "SELECT xid FROM ctxfs_changes WHERE name = 'k0'").Scan(&first))
	if first >= last {
		t.Fatalf("transaction %d was not used again, the first after the crash is %d: the test shows nothing", last-1, first)
	}
	proxy.Refuse(false)
	awaitKeys(t, events, keys...)
}

// awaitPolls waits until a store that only watches has asked n times.
func awaitPolls(proxy *pgtest.Proxy, n int64) {
	var asked atomic.Int64
	enough := make(chan struct{})
	proxy.OnQuery(func([]byte) pgtest.Fault {
		if asked.Add(1) == n {
			close(enough)
		}
		return pgtest.Pass
	})
	<-enough
	proxy.OnQuery(nil)
}

func TestAStandbyThatTakesOverHasAllThatWasAcknowledged(t *testing.T) {
	ctx := context.Background()
	primary := cluster(t)
	standby, err := primary.Standby(ctx)
	must(t, err)
	t.Cleanup(func() { must(t, standby.Stop()) })
	// The standby first, and no target_session_attrs: it must not be read from.
	url := pgtest.URLOf([]*pgtest.Cluster{standby, primary})
	one, two := closing(t, openStore(t, url, Options{})), closing(t, openStore(t, url, Options{}))
	events := watch(t, two, "")
	stop := make(chan struct{})
	wait := lines(t, one, stop)
	before := awaitKeys(t, events, "log").Token
	must(t, primary.Kill(syscall.SIGKILL))
	must(t, standby.Promote(ctx))
	// Transactions of the old primary that the standby has not heard of may
	// have other numbers now, so everything is looked at anew.
	for next(t, events).Kind != backing.Resync {
	}
	if ev := next(t, watch(t, one, before)); ev.Kind != backing.Resync {
		t.Errorf("event %+v after a token of the old primary", ev)
	}
	mustPut(t, one, "after", "x")
	awaitKeys(t, events, "after")
	close(stop)
	acknowledged := wait()
	wantLines(t, read(t, two, "log"), acknowledged)
}
