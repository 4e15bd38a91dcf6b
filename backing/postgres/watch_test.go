package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
	"ctxfs/backing/postgres/pgtest"
)

// patience bounds every wait; it is over only where something is wrong.
const patience = 60 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustPut(t testing.TB, s *Store, key backing.Key, body string) backing.Meta {
	t.Helper()
	m, err := s.Put(context.Background(), key, strings.NewReader(body), backing.PutOptions{KeepVersion: true})
	must(t, err)
	return m
}

// closing closes s when the test ends.
func closing(t testing.TB, s *Store) *Store {
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func watch(t testing.TB, s *Store, token string) <-chan backing.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	events, err := s.Watch(ctx, token)
	must(t, err)
	return events
}

// next returns the next event.
func next(t testing.TB, events <-chan backing.Event) backing.Event {
	t.Helper()
	select {
	case ev, open := <-events:
		if !open {
			t.Fatal("the channel was closed")
		}
		return ev
	case <-time.After(patience):
		t.Fatal("no event")
	}
	return backing.Event{}
}

// awaitKeys reads events until all keys came, which may be without a Resync
// only.
func awaitKeys(t testing.TB, events <-chan backing.Event, keys ...backing.Key) (last backing.Event) {
	t.Helper()
	missing := make(map[backing.Key]bool)
	for _, key := range keys {
		missing[key] = true
	}
	for len(missing) > 0 {
		last = next(t, events)
		if last.Kind == backing.Resync {
			t.Fatal("a Resync, although nothing was lost")
		}
		delete(missing, last.Key)
	}
	return last
}

func TestAWatcherOnAnotherHostMissesNothingAlsoOverACutConnection(t *testing.T) {
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	one := closing(t, openStore(t, url, Options{}))
	two := closing(t, openStore(t, proxy.Through(t, url), Options{}))
	events := watch(t, two, "")
	const writers, each = 8, 25
	var keys []backing.Key
	for i := range writers * each {
		keys = append(keys, backing.Key(fmt.Sprint("k", i)))
	}
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range each {
				mustPut(t, one, keys[w*each+i], "x")
				if i%5 == 0 {
					proxy.Cut()
				}
			}
		})
	}
	awaitKeys(t, events, keys...)
	running.Wait()
}

func TestAChangeOfALongTransactionComesWhenItIsCommitted(t *testing.T) {
	ctx := context.Background()
	url := pgtest.Schema(t)
	one, two := closing(t, openStore(t, url, Options{})), closing(t, openStore(t, url, Options{}))
	conn, err := pgx.Connect(ctx, url)
	must(t, err)
	defer conn.Close(ctx)
	const add = "INSERT INTO ctxfs_changes (write, dir, name) VALUES ($1, '', $2)"
	begin := func(name string) pgx.Tx {
		tx, err := conn.Begin(ctx)
		must(t, err)
		_, err = tx.Exec(ctx, add, newID(), []byte(name))
		must(t, err)
		return tx
	}
	early := begin("early")
	events := watch(t, two, "") // while the transaction runs
	mustPut(t, one, "a", "x")
	token := awaitKeys(t, events, "a").Token
	must(t, early.Commit(ctx))
	awaitKeys(t, events, "early")
	late := begin("late")
	mustPut(t, one, "b", "x")
	mustPut(t, one, "c", "x")
	awaitKeys(t, events, "b", "c")
	must(t, late.Commit(ctx))
	awaitKeys(t, events, "late")
	awaitKeys(t, watch(t, two, token), "early", "b", "c", "late")
}

func TestATokenResumesInAnotherProcess(t *testing.T) {
	url := pgtest.Schema(t)
	one := closing(t, openStore(t, url, Options{}))
	two := openStore(t, url, Options{})
	events := watch(t, two, "")
	mustPut(t, one, "a", "x")
	token := awaitKeys(t, events, "a").Token
	must(t, two.Close())
	mustPut(t, one, "b", "x")
	three := closing(t, openStore(t, url, Options{}))
	events = watch(t, three, token)
	mustPut(t, one, "c", "x")
	awaitKeys(t, events, "b", "c")
}

func TestATokenOfWhatIsNotKeptBringsAResync(t *testing.T) {
	url := pgtest.Schema(t)
	one := closing(t, openStore(t, url, Options{Keep: time.Nanosecond}))
	events := watch(t, one, "")
	mustPut(t, one, "a", "x")
	token := awaitKeys(t, events, "a").Token
	mustPut(t, one, "b", "x")
	mustPut(t, one, "c", "x")
	// Not before the oldest transaction of the whole server is younger.
	for end := time.Now().Add(patience); changesOf(t, one) > 0; {
		must(t, one.sweep(context.Background()))
		if time.Now().After(end) {
			t.Fatal("the changes are not trimmed")
		}
	}
	for _, old := range []string{token, "no token", "1:1:", "999999999999:999999999999:"} {
		if ev := next(t, watch(t, one, old)); ev.Kind != backing.Resync {
			t.Fatalf("event %+v after the token %q", ev, old)
		}
	}
}

// However much there is, it goes in steps that end in the time of a call.
func TestOneSweepRemovesAllThatIsOver(t *testing.T) {
	const loose = 3*dropMost + 1
	ctx := context.Background()
	s := closing(t, openStore(t, pgtest.Schema(t), Options{}))
	for n := range 5 {
		mustPut(t, s, backing.Key(fmt.Sprint(n)), "x")
	}
	_, err := s.pool.Exec(ctx, `UPDATE ctxfs_changes SET at = now() - interval '1 day'`)
	must(t, err)
	_, err = s.pool.Exec(ctx, `INSERT INTO ctxfs_loose (body, until)
		SELECT gen_random_uuid(), now() - interval '1 second' FROM generate_series(1, $1)`, loose)
	must(t, err)
	// Not before the oldest transaction of the whole server is younger.
	over := false
	for end := time.Now().Add(patience); !over && time.Now().Before(end); {
		must(t, s.pool.QueryRow(ctx, `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint > max(xid) FROM ctxfs_changes`).Scan(&over))
	}
	var trimmed int
	must(t, s.pool.QueryRow(ctx, trimSQL, time.Hour, 3).Scan(&trimmed))
	if left := changesOf(t, s); trimmed != 3 || left != 2 {
		t.Errorf("a step of at most 3 changes removed %d, %d are left", trimmed, left)
	}
	must(t, s.sweep(ctx))
	var left int
	must(t, s.pool.QueryRow(ctx, "SELECT count(*) FROM ctxfs_loose").Scan(&left))
	if n := changesOf(t, s); n > 0 || left > 0 {
		t.Errorf("%d changes and %d bodies are left", n, left)
	}
}

func changesOf(t testing.TB, s *Store) (n int) {
	t.Helper()
	must(t, s.pool.QueryRow(context.Background(), "SELECT count(*) FROM ctxfs_changes").Scan(&n))
	return n
}

func TestADatabaseThatLostCommitsBringsAResync(t *testing.T) {
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	one := closing(t, openStore(t, url, Options{}))
	two := closing(t, openStore(t, proxy.Through(t, url), Options{}))
	events := watch(t, two, "")
	mustPut(t, one, "a", "x")
	awaitKeys(t, events, "a")
	// What it was after a failover to a standby that had not heard of it.
	_, err := one.pool.Exec(context.Background(), "DELETE FROM ctxfs_changes")
	must(t, err)
	proxy.Cut()
	if ev := next(t, events); ev.Kind != backing.Resync {
		t.Fatalf("event %+v", ev)
	}
	mustPut(t, one, "b", "x")
	awaitKeys(t, events, "b")
}

func TestAStoresOwnWriteComesOnce(t *testing.T) {
	url := pgtest.Schema(t)
	one, two := closing(t, openStore(t, url, Options{})), closing(t, openStore(t, url, Options{}))
	events := watch(t, one, "")
	mustPut(t, one, "a", "x")
	mustPut(t, two, "z", "x")
	count := 0
	for ev := next(t, events); ev.Key != "z"; ev = next(t, events) {
		count++
	}
	if count != 1 {
		t.Fatalf("%d events of one write", count)
	}
}
