package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
)

// The feed of changes. Nothing that counts up can say what is new: a number is
// given to a change before it is committed, so that a smaller one may become
// visible after a greater one. What does say it are the transactions. Each
// change has the id of its transaction, and a look at the table remembers its
// snapshot: which transactions were running. New for the next look is what
// belongs to one of those, and what is newer than all that was seen. So every
// change is seen exactly once, however long its transaction or a stranger's
// took. See place.

// change is one row.
type change struct {
	write id
	xid   int64
	key   backing.Key
}

// maxNew is how many changes one look takes; a watcher that is further behind
// is told to look at everything anew.
const maxNew = 1 << 16

// newSQL returns the snapshot too, in a row of its own where nothing is new. A
// change of a transaction that this server has not begun is from before the
// database was restored, and no news.
const newSQL = `
SELECT pg_current_snapshot()::text, c.write, c.xid, c.dir, c.name FROM (SELECT 1) one LEFT JOIN (
  (SELECT write, xid, dir, name FROM ctxfs_changes
   WHERE xid >= $1 AND xid < pg_snapshot_xmax(pg_current_snapshot())::text::bigint AND NOT fence
   ORDER BY xid LIMIT $3)
  UNION ALL
  (SELECT write, xid, dir, name FROM ctxfs_changes WHERE xid = ANY($2) AND NOT fence LIMIT $3)
) c ON true`

// errBehind is that a place in the feed is none any more.
var errBehind = errors.New("changes since then are not all kept")

// querier is a connection.
type querier interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
	QueryRow(context.Context, string, ...any) pgx.Row
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
}

// since returns what is new since from, and the place after it; errBehind
// where that is too much.
func since(ctx context.Context, q querier, from *place) ([]change, *place, error) {
	var b pgx.Batch
	// The planner must not think of the whole table, whatever it knows of it.
	b.Queue("SELECT set_config('enable_seqscan', 'off', true)")
	b.Queue(newSQL, from.next, from.running, maxNew)
	r := q.SendBatch(ctx, &b)
	list, text, err := readChanges(r)
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, nil, err
	}
	if len(list) >= maxNew {
		return nil, nil, errBehind
	}
	newest := from.next - 1
	for _, c := range list {
		newest = max(newest, c.xid)
	}
	to, err := seen(from.line, text, newest)
	return list, to, err
}

func readChanges(r pgx.BatchResults) (list []change, text string, err error) {
	if _, err := r.Exec(); err != nil {
		return nil, "", err
	}
	rows, err := r.Query()
	if err != nil {
		return nil, "", err
	}
	var write *id
	var xid *int64
	var dir, name []byte
	_, err = pgx.ForEachRow(rows, []any{&text, &write, &xid, &dir, &name}, func() error {
		if write != nil {
			list = append(list, change{*write, *xid, backing.Key(dir).Join(string(name))})
		}
		return nil
	})
	return list, text, err
}

// wholeSQL returns the server's line of time, the snapshot, the end of it, the
// newest transaction with a change, up to which changes were trimmed, and how
// many of the changes $1 of the transactions $2 are gone without that.
const wholeSQL = `
WITH now AS (
  SELECT pg_current_snapshot() AS snapshot, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax,
    (SELECT max(xid) FROM ctxfs_trimmed) AS trimmed
)
SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
  snapshot::text, xmax,
  greatest((SELECT max(xid) FROM ctxfs_changes WHERE xid < now.xmax), CASE WHEN trimmed < xmax THEN trimmed END, 0),
  trimmed,
  (SELECT count(*) FROM unnest($1::uuid[], $2::bigint[]) AS l (write, xid)
   WHERE l.xid > trimmed AND NOT EXISTS (SELECT FROM ctxfs_changes c WHERE c.write = l.write))
FROM now`

// whole returns the present place, and errBehind beside it where the feed
// does not go from the place from to there without a gap: changes in between
// were trimmed, or this database is another one, or an older state of it, or a
// standby that took over: it may have lost commits, also such as are not in
// the feed yet. last are the changes that were seen last, if any; where
// commits were lost, one of them is.
func whole(ctx context.Context, q querier, from *place, last []change) (*place, error) {
	writes, xids := make([]id, len(last)), make([]int64, len(last))
	for i, c := range last {
		writes[i], xids[i] = c.write, c.xid
	}
	var line, snapshot string
	var xmax, newest, trimmed int64
	var lost int
	err := q.QueryRow(ctx, wholeSQL, writes, xids).Scan(&line, &snapshot, &xmax, &newest, &trimmed, &lost)
	if err != nil {
		return nil, err
	}
	now, err := seen(line, snapshot, newest)
	if err != nil || from == nil {
		return now, err
	}
	if from.line != line || from.next > xmax || trimmed >= from.oldest() || lost > 0 {
		return now, errBehind
	}
	return now, nil
}
