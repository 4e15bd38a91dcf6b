package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// sweepEvery is the time between two sweeps of one store, much shorter than
// looseFor: each puts off the end of what is being read.
const sweepEvery = time.Minute

// sweepLock is the first number of the advisory lock of the host that sweeps;
// the second is made of the schema's name.
const sweepLock = schemaLock + 1

// sweeper removes what nobody needs any more: changes that are older than
// Options.Keep, and large bodies that were replaced or never published.
type sweeper struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func startSweeper(s *Store) *sweeper {
	w := &sweeper{}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	if s.o.ReadOnly {
		return w
	}
	w.running.Go(func() {
		for s.pause(ctx, sweepEvery) {
			if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
				s.o.Log.Warn("old changes and contents were not removed from the database", "err", err)
			}
		}
	})
	return w
}

func (w *sweeper) close() {
	w.cancel()
	w.running.Wait()
}

// What one step of a sweep removes at most: it must end in the time of a call,
// however much there is.
const (
	trimMost = 100_000 // changes
	dropMost = 100     // bodies
)

// sweep holds what this store is reading, and removes the rest where no other
// host is at it.
func (s *Store) sweep(ctx context.Context) error {
	err := s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, `UPDATE ctxfs_loose SET until = now() + interval '`+looseFor+`' WHERE body = ANY($1)`, s.reading.all())
		return err
	})
	for more := true; more && err == nil; {
		err = s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
			more, err = sweepStep(ctx, conn, s.o.Keep)
			return err
		})
	}
	return err
}

// sweepStep reports whether there may be more to do: each change is of a
// transaction of its own, so a step that is full removes just so many.
func sweepStep(ctx context.Context, conn *pgxpool.Conn, keep time.Duration) (more bool, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return false, err
	}
	// After Commit it does nothing; before, the connection says what it is.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	var mine bool
	err = tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1, hashtext(current_schema()))", sweepLock).Scan(&mine)
	if err != nil || !mine {
		return false, err
	}
	var trimmed, dropped int
	if err := tx.QueryRow(ctx, trimSQL, keep, trimMost).Scan(&trimmed); err != nil {
		return false, err
	}
	if err := tx.QueryRow(ctx, dropSQL, dropMost).Scan(&dropped); err != nil {
		return false, err
	}
	return trimmed == trimMost || dropped == dropMost, tx.Commit(ctx)
}

// trimSQL removes the $2 oldest changes, up to the first that is young enough,
// or to what may still be running. It walks the index over what it removes.
const trimSQL = `
WITH edge AS (
  SELECT least(pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
    (SELECT xid FROM ctxfs_changes WHERE at >= now() - $1::interval ORDER BY xid LIMIT 1),
    (SELECT xid FROM ctxfs_changes ORDER BY xid OFFSET $2 LIMIT 1)) AS xid
), old AS (
  DELETE FROM ctxfs_changes USING edge WHERE ctxfs_changes.xid < edge.xid RETURNING ctxfs_changes.xid
), place AS (
  UPDATE ctxfs_trimmed SET xid = greatest(ctxfs_trimmed.xid, old.last)
  FROM (SELECT max(xid) AS last FROM old) old WHERE old.last IS NOT NULL
)
SELECT count(*) FROM old`

// dropSQL removes $1 of the loose bodies whose time is over.
const dropSQL = `
WITH dead AS (
  DELETE FROM ctxfs_loose WHERE body IN (
    SELECT body FROM ctxfs_loose WHERE until < now() LIMIT $1 FOR UPDATE SKIP LOCKED
  ) RETURNING body
), gone AS (
  DELETE FROM ctxfs_chunks USING dead WHERE ctxfs_chunks.body = dead.body
)
SELECT count(*) FROM dead`
