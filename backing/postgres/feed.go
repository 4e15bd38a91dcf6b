package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
	"ctxfs/backing/fanout"
)

// feed reads the changes that all hosts make, for every Watch of the store, on
// a connection of its own.
type feed struct {
	s       *Store
	ctx     context.Context // ends with the store
	cancel  context.CancelFunc
	running sync.WaitGroup

	startMu sync.Mutex // held while the first Watch finds its place; taken before mu
	started bool       // guarded by startMu

	mu    sync.Mutex // guards what follows; never held across a round trip
	subs  map[*fanout.Queue]bool
	token string      // of what all subscribers have been told
	own   map[id]bool // this store's writes that have not come by; nil until the first Watch
	heard time.Time   // of all that was committed by then; zero while the connection is lost

	// Of the goroutine that polls.
	place *place
	last  []change // what was seen last
}

func newFeed(s *Store) *feed {
	f := &feed{s: s, subs: make(map[*fanout.Queue]bool)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// start finds the present place in the feed and begins to poll from there. When
// it returns, nobody gets the store for himself any more.
func (f *feed) start(ctx context.Context) error {
	f.startMu.Lock()
	defer f.startMu.Unlock()
	if f.ctx.Err() != nil {
		return errClosed
	}
	if f.started {
		return nil
	}
	var conn *pgx.Conn
	err := f.s.call(ctx, func(ctx context.Context, _ *pgxpool.Conn) (err error) {
		conn, err = f.connect(ctx)
		return err
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.token, f.own = f.place.String(), make(map[id]bool)
	f.mu.Unlock()
	f.started = true
	f.running.Go(func() { f.run(conn) })
	return nil
}

func (f *feed) present() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.token
}

// tell hands an event with the present token to every subscriber.
func (f *feed) tell(ev backing.Event) {
	if ev.Kind == backing.Changed && ev.Key.Under(backing.Own) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ev.Token = f.token
	for q := range f.subs {
		q.Add(ev)
	}
}

// expect announces a write of this store: its change will be told when it is
// committed, and not again when it comes by.
func (f *feed) expect(id id) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own != nil {
		f.own[id] = true
	}
}

// forget takes back what expect announced: the write did not happen.
func (f *feed) forget(id id) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.own, id)
}

// committed tells of a write of this store that happened, or may have.
func (f *feed) committed(key backing.Key) {
	f.tell(backing.Event{Kind: backing.Changed, Key: key})
}

// came reports whether c is a write of this store.
func (f *feed) came(c change) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	mine := f.own[c.write]
	delete(f.own, c.write)
	return mine
}

func (f *feed) close() {
	f.startMu.Lock()
	f.cancel()
	f.startMu.Unlock()
	f.running.Wait()
}

// run polls until the store ends, on conn and then on one connection after the
// other.
func (f *feed) run(conn *pgx.Conn) {
	var err error
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		if err == nil {
			pause = firstPause
			err = f.follow(conn)
			f.hear(time.Time{})
			// Closing a connection that broke says so again.
			_ = conn.Close(context.Background())
		}
		if f.ctx.Err() != nil {
			return
		}
		f.s.o.Log.Warn("the changes of other hosts are not heard of for now", "err", err)
		f.s.pause(f.ctx, pause)
		conn, err = f.connect(f.ctx)
	}
}

// connect opens a connection for polls, from the place where the last one
// ended, or from the present one.
func (f *feed) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, f.s.o.Timeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, f.s.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	now, err := whole(ctx, conn, f.place, f.last)
	switch {
	case errors.Is(err, errBehind):
		f.resync(now)
		err = nil
	case err == nil && f.place == nil:
		f.place = now
	}
	if err == nil && !f.s.o.ReadOnly && !f.s.o.Alone {
		err = f.share(ctx, conn)
	}
	if err != nil {
		_ = conn.Close(ctx) // err is the one to tell
		return nil, err
	}
	return conn, nil
}

// share lets others know that this host follows the store.
func (f *feed) share(ctx context.Context, conn *pgx.Conn) error {
	ok, err := shareUse(ctx, conn)
	if err == nil && !ok {
		f.s.o.Log.Warn("somebody wants the store for himself: a copy into it is under way")
	}
	return err
}

// resync goes on from now, and tells everybody that something was missed.
func (f *feed) resync(now *place) {
	f.place, f.last = now, nil
	f.s.listings.Clear()
	f.mu.Lock()
	f.token = now.String()
	clear(f.own)
	f.mu.Unlock()
	f.tell(backing.Event{Kind: backing.Resync})
}

// follow polls until the connection breaks or the store ends.
func (f *feed) follow(conn *pgx.Conn) error {
	tick := time.NewTicker(f.s.o.Poll)
	defer tick.Stop()
	for {
		if err := f.poll(conn); err != nil {
			return err
		}
		select {
		case <-f.ctx.Done():
			return f.ctx.Err()
		case <-tick.C:
		}
	}
}

func (f *feed) poll(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(f.ctx, f.s.o.Timeout)
	defer cancel()
	asked := time.Now()
	list, to, err := since(ctx, conn, f.place)
	if errors.Is(err, errBehind) {
		now, err := whole(ctx, conn, nil, nil)
		if err == nil {
			f.resync(now)
		}
		return err
	}
	if err != nil {
		return err
	}
	if len(list) > 0 {
		f.last = list
	}
	for _, c := range list {
		if !f.came(c) {
			f.s.listings.Mark(c.key) // before the watchers look
			// With the token from before them: who has read only some of them
			// and resumes gets all again.
			f.tell(backing.Event{Kind: backing.Changed, Key: c.key})
		}
	}
	f.place = to
	f.mu.Lock()
	f.token = to.String()
	f.mu.Unlock()
	f.hear(asked)
	return nil
}

func (f *feed) hear(all time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = all
}

// freshFor is for how long what is cached counts after all changes were heard
// of: many polls, but less than a reader would notice.
const freshFor = 250 * time.Millisecond

// fresh reports whether the changes of other hosts are heard of, so that what is
// cached may be served.
func (f *feed) fresh() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.heard) < freshFor
}
