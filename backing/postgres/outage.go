package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// outage is the time since when the database cannot be reached. A call waits
// for it until it has lasted as long as one may take. After that calls fail at
// once, so that a walk of many files does not wait for each of them; one a
// second tries.
type outage struct {
	mu    sync.Mutex // guards what follows
	since time.Time  // zero while all is well
	cause error
	tried time.Time
}

// tryEvery is the time between two calls that try during a long outage, and
// how long they do.
const tryEvery = time.Second

// note takes down how a try ended.
func (o *outage) note(ctx context.Context, err error) {
	reached := err == nil || answer(err) || judge(err) == final
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && judge(err) == again {
		reached = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case reached:
		o.since = time.Time{}
	case errors.Is(ctx.Err(), context.Canceled): // the caller gave up, and that says nothing
	case o.since.IsZero():
		o.since, o.cause = time.Now(), err
	}
}

// left is how long a call that begins now may try, of timeout; an error where
// it shall not.
func (o *outage) left(timeout time.Duration) (time.Duration, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return timeout, nil
	}
	now := time.Now()
	most := min(timeout, tryEvery)
	if left := timeout - now.Sub(o.since); left > most {
		return left, nil
	}
	if now.Sub(o.tried) < most {
		return 0, fmt.Errorf("out of reach for %s: %w", now.Sub(o.since).Round(time.Second), o.cause)
	}
	o.tried = now
	return most, nil
}

// limit gives ctx the end that a call has which begins now.
func (s *Store) limit(ctx context.Context) (context.Context, context.CancelFunc, error) {
	left, err := s.outage.left(s.o.Timeout)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	return ctx, cancel, nil
}
