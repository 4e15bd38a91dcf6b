package index

import (
	"context"
	"database/sql"
	"errors"
	"hash/maphash"
	"math"
	"strings"
	"time"
)

// seenWords bounds how many words are known to be stored, see writer.seen.
const seenWords = 1 << 16

// writer changes the file. It is used by one goroutine at a time.
type writer struct {
	db       *sql.DB
	conn     *sql.Conn // the only one of db
	prepared map[string]*sql.Stmt
	src      Source
	seed     maphash.Seed
	// seen are the hashes of words that are stored already, so that few are
	// asked for in the file; begun anew when it grows long.
	seen map[uint64]struct{}
}

func newWriter(ctx context.Context, db *sql.DB, src Source) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &writer{db: db, conn: conn, prepared: map[string]*sql.Stmt{}, src: src, seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}, nil
}

func (w *writer) close() error {
	var errs []error
	for _, s := range w.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
}

// statement prepares a query once: parsing it costs more than most of them.
func (w *writer) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := w.prepared[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	w.prepared[query] = s
	return s, nil
}

func (w *writer) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := w.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// QueryContext implements querier.
func (w *writer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := w.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// transaction runs do in a transaction.
func (w *writer) transaction(ctx context.Context, do func() error) error {
	if _, err := w.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		if _, err = w.exec(ctx, "COMMIT"); err == nil {
			return nil
		}
	}
	if _, undo := w.conn.ExecContext(ctx, "ROLLBACK"); undo != nil && !strings.Contains(undo.Error(), "no transaction is active") {
		err = errors.Join(err, undo)
	}
	return err
}

// idShift leaves room for a million entries of one second.
const idShift = 20

// firstID is the least number of entries of a second.
func firstID(unix int64) int64 { return unix << idShift }

// newID is the number of a new entry of that time: the next free one of its
// second, or, where those are used up, of all.
func (w *writer) newID(ctx context.Context, at time.Time) (int64, error) {
	first, next := firstID(at.Unix()), firstID(at.Unix()+1)
	for _, below := range []int64{next, math.MaxInt64} {
		last, err := column[int64](ctx, w, "SELECT id FROM entry WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1", first, below)
		if err != nil {
			return 0, err
		}
		if len(last) == 0 {
			return first, nil
		}
		if id := last[0] + 1; id != next {
			return id, nil
		}
	}
	return 0, errors.New("no number is left for an entry")
}

// querier is a connection or a database.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// column returns the one column of all rows.
func column[T any](ctx context.Context, q querier, query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
