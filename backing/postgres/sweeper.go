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

// sweep holds what this store is reading, and removes the rest where no other
// host is at it.
func (s *Store) sweep(ctx context.Context) error {
	return s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, `UPDATE ctxfs_loose SET until = now() + interval '`+looseFor+`' WHERE body = ANY($1)`, s.reading.all())
		if err != nil {
			return err
		}
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		// After Commit it does nothing; before, the connection says what it is.
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		var mine bool
		err = tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1, hashtext(current_schema()))", sweepLock).Scan(&mine)
		if err != nil || !mine {
			return err
		}
		if _, err := tx.Exec(ctx, trimSQL, s.o.Keep); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, dropSQL); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
}

// trimSQL removes the oldest changes, up to the first that is young enough, or
// to what may still be running. It walks the index over what it removes.
const trimSQL = `
WITH edge AS (
  SELECT least(pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
    (SELECT xid FROM ctxfs_changes WHERE at >= now() - $1::interval ORDER BY xid LIMIT 1)) AS xid
), old AS (
  DELETE FROM ctxfs_changes USING edge WHERE ctxfs_changes.xid < edge.xid RETURNING ctxfs_changes.xid
)
UPDATE ctxfs_trimmed SET xid = greatest(ctxfs_trimmed.xid, old.last)
FROM (SELECT max(xid) AS last FROM old) old WHERE old.last IS NOT NULL`

// dropSQL removes loose bodies whose time is over, some at a time.
const dropSQL = `
WITH dead AS (
  DELETE FROM ctxfs_loose WHERE body IN (
    SELECT body FROM ctxfs_loose WHERE until < now() LIMIT 100 FOR UPDATE SKIP LOCKED
  ) RETURNING body
)
DELETE FROM ctxfs_chunks USING dead WHERE ctxfs_chunks.body = dead.body`
