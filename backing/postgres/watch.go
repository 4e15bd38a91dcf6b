package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
	"ctxfs/backing/fanout"
)

// Watch reports the changes of all hosts, wherever in the store. The store's
// own are reported when they are committed, those of others within
// Options.Poll and a round trip. A token resumes after its event, also in
// another process, as long as the changes since then are kept.
func (s *Store) Watch(ctx context.Context, token string) (<-chan backing.Event, error) {
	if err := s.begin(""); err != nil {
		return nil, told("watch", "", err)
	}
	defer s.end()
	q := fanout.NewQueue()
	if err := s.feed.join(ctx, q, token); err != nil {
		return nil, told("watch", "", err)
	}
	return q.Out(), nil
}

func (f *feed) join(ctx context.Context, q *fanout.Queue, token string) error {
	if err := f.start(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	f.subs[q] = true
	f.mu.Unlock()
	// From here on it misses nothing; what was before comes now, some of it twice.
	var err error
	if token != "" {
		err = f.catchUp(ctx, q, token)
	}
	if err != nil {
		f.leave(q)
		return err
	}
	f.running.Go(func() {
		defer f.leave(q)
		q.Pump(ctx, f.ctx.Done())
	})
	return nil
}

func (f *feed) leave(q *fanout.Queue) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs, q)
}

// catchUp tells q what happened since token, or that nobody knows.
func (f *feed) catchUp(ctx context.Context, q *fanout.Queue, token string) error {
	from, err := parsePlace(token)
	var list []change
	if err == nil {
		err = f.s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
			_, err := whole(ctx, conn, from, nil)
			if err == nil {
				list, _, err = since(ctx, conn, from)
			}
			return err
		})
	} else { // of another store
		err = errBehind
	}
	if errors.Is(err, errBehind) {
		q.Add(backing.Event{Kind: backing.Resync, Token: f.present()})
		return nil
	}
	for _, c := range list {
		if !c.key.Under(backing.Own) {
			q.Add(backing.Event{Kind: backing.Changed, Key: c.key, Token: token})
		}
	}
	return err
}
