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
// snapshot: which transactions it saw. New for the next look is what belongs
// to one of those that it did not see: the ones that were running, and the
// ones that had not begun. So every change is seen exactly once, however long
// its transaction or a stranger's took, and the place in the feed is a
// snapshot.

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
func since(ctx context.Context, q querier, from *snapshot) ([]change, *snapshot, error) {
	var b pgx.Batch
	// The planner must not think of the whole table, whatever it knows of it.
	b.Queue("SELECT set_config('enable_seqscan', 'off', true)")
	b.Queue(newSQL, from.xmax, from.running, maxNew)
	r := q.SendBatch(ctx, &b)
	list, text, err := readChanges(r)
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, nil, err
	}
	to, err := parseSnapshot(text)
	if err == nil && len(list) >= maxNew {
		err = errBehind
	}
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

// whole returns the present place, and errBehind beside it where the feed
// does not go from the place from to there without a gap: changes in between
// were trimmed, or this database is another one, or an older state of it, as
// after a failover that lost commits. last is a change that was seen, if any.
func whole(ctx context.Context, q querier, from *snapshot, last change) (*snapshot, error) {
	var text string
	var trimmed int64
	var seen bool
	err := q.QueryRow(ctx, `SELECT pg_current_snapshot()::text, (SELECT max(xid) FROM ctxfs_trimmed),
		EXISTS (SELECT FROM ctxfs_changes WHERE write = $1)`, last.write).Scan(&text, &trimmed, &seen)
	if err != nil {
		return nil, err
	}
	now, err := parseSnapshot(text)
	if err != nil || from == nil {
		return now, err
	}
	if now.xmax < from.xmax || trimmed >= from.xmin || last.xid > trimmed && !seen {
		return now, errBehind
	}
	return now, nil
}
