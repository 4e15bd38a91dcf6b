package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// Between two tries of one call.
const (
	firstPause = 5 * time.Millisecond
	longPause  = 250 * time.Millisecond
)

// call runs f, which may be run twice, and again where the connection breaks,
// until the store's timeout.
func (s *Store) call(ctx context.Context, f func(context.Context, *pgxpool.Conn) error) error {
	ctx, cancel, err := s.limit(ctx)
	if err != nil {
		return fault(err)
	}
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := s.with(ctx, f)
		if err == nil || judge(err) == final {
			return fault(err)
		}
		if !s.pause(ctx, pause) {
			return fault(lateError(ctx, err))
		}
	}
}

// with runs f on a connection of the pool.
func (s *Store) with(ctx context.Context, f func(context.Context, *pgxpool.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		err = notSent{err}
	} else {
		err = f(ctx, conn)
		conn.Release()
	}
	s.outage.note(ctx, err)
	if err != nil && (judge(err) == unknown || isCode(err, readOnlyServer)) {
		// Its neighbours broke with it, more often than not, or are connected
		// to what was the primary too.
		s.pool.Reset()
	}
	return err
}

// pause reports whether there is time left after it.
func (s *Store) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// lateError is err, and that the time is over: what the context says of it
// counts, what the last try met explains it.
func lateError(ctx context.Context, err error) error {
	if over := ctx.Err(); !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}

// write runs f, which is one transaction that adds a change with the id it is
// given, until it happened exactly once or certainly did not. f returns what it
// left at key, or nil where it does not know. blind says that it happened, but
// that what f returns was lost with the connection.
//
// Where the connection breaks nobody knows whether the server got so far, nor
// whether it is still at it. So a fence goes into the table of changes under
// the same id: the index lets in one of the two. See resolve.
func (s *Store) write(ctx context.Context, key backing.Key, f func(context.Context, *pgxpool.Conn, id) (*backing.Meta, error)) (wrote id, blind bool, err error) {
	ctx, cancel, err := s.limit(ctx)
	if err != nil {
		return id{}, false, fault(err)
	}
	defer cancel()
	mark := s.listings.Mark(key)
	// Before watchers are told. Where nothing happened, what was known of key
	// may be why.
	settle := func(left *backing.Meta) { s.listings.Settle(key, mark, left) }
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		id := newID()
		s.feed.expect(id)
		var left *backing.Meta
		err := s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
			left, err = f(ctx, conn, id)
			return err
		})
		if err == nil {
			settle(left)
			s.feed.committed(key)
			return id, false, nil
		}
		settle(nil)
		v := judge(err)
		if v == unknown {
			happened, lost := s.resolve(ctx, key, id)
			if happened || lost != nil {
				settle(nil)
				s.feed.committed(key)
			}
			if lost != nil {
				// Should it happen yet, it comes by like one of another host.
				s.feed.forget(id)
				return id, false, fmt.Errorf("%w: %w; %w", backing.ErrUnknown, fault(err), lost)
			}
			if happened {
				return id, true, nil
			}
		}
		s.feed.forget(id)
		if v == final {
			return id, false, fault(err)
		}
		if !s.pause(ctx, pause) {
			return id, false, fault(lateError(ctx, err))
		}
	}
}

// resolve says what became of the write id: it puts a fence where the write's
// change would be. Where the fence gets in the write did not happen, and never
// will, although its statement may still be on its way to the server.
//
// That it does not find the change says nothing where it may have been removed
// already, as where this host was stopped for so long.
func (s *Store) resolve(ctx context.Context, key backing.Key, id id) (happened bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Timeout)
	defer cancel()
	dir, name := at(key)
	var fenced bool
	err = s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		// It writes in any case: where standbys have to confirm commits, they
		// then confirm this one, and all before it.
		return conn.QueryRow(ctx, `INSERT INTO ctxfs_changes AS c (write, dir, name, fence) VALUES ($1, $2, $3, true)
			ON CONFLICT (write) DO UPDATE SET fence = c.fence RETURNING fence`, id, dir, name).Scan(&fenced)
	})
	if err == nil && fenced && age(id) > s.o.Keep/2 {
		err = fmt.Errorf("a write of %s ago, which the database may not remember", age(id).Round(time.Second))
	}
	return !fenced, err
}

// inBatch sends b, which the server runs as one transaction in one round trip,
// and has its results read. Before it is closed nothing is committed.
func inBatch(ctx context.Context, conn *pgxpool.Conn, b *pgx.Batch, results func(pgx.BatchResults) error) error {
	r := conn.SendBatch(ctx, b)
	err := results(r)
	closed := r.Close()
	// A statement that missed is rolled back by no one: it changed nothing.
	if err != nil && !errors.Is(err, errMissed) {
		return err
	}
	if closed != nil {
		return closed
	}
	return err
}
