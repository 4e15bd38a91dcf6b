package entries

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// MaxSize is the length of the longest entry, in bytes; a longer one is
// refused whole, with EFBIG.
const MaxSize = 64 << 20

// Options of [New]. The zero value works.
type Options struct {
	// Strict refuses entries that lack a field instead of filling it in.
	Strict bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log gets refusals and repairs, never contents; nil is slog.Default().
	Log *slog.Logger
	// Journal gets every refusal; nil keeps none.
	Journal *room.Journal
	// Alive reports whether the process or thread pid still runs; nil looks
	// into /proc.
	Alive func(pid uint32) bool
}

// Entries is the room. It implements [room.Room].
type Entries struct {
	store backing.Store
	o     Options
	paths pathLocks

	mu       sync.Mutex // guards the maps below; never held across a call to the store
	pending  map[string]*pending
	nPending uint64
	dances   map[string]dance
	drafts   map[string]map[*draft]bool // open ones, by path
	rejectOf map[string]string          // agent whose draft a .rej holds, by its path
	watchers map[*queue]bool

	intents intents

	stop    context.CancelFunc
	dancing chan struct{} // tells the poller that a dance began
	work    sync.WaitGroup
}

var _ room.Room = (*Entries)(nil)

// New returns the room of the entries in store, after it has finished what a
// crash left half done (see [Entries.repair]). The caller closes it before the
// store.
func New(store backing.Store, o Options) (*Entries, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Alive == nil {
		o.Alive = aliveInProc
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &Entries{
		store: store, o: o, stop: stop,
		pending:  map[string]*pending{},
		dances:   map[string]dance{},
		drafts:   map[string]map[*draft]bool{},
		rejectOf: map[string]string{},
		watchers: map[*queue]bool{},
		dancing:  make(chan struct{}, 1),
	}
	if err := e.repair(ctx); err != nil {
		stop()
		return nil, fmt.Errorf("repair the store: %w", err)
	}
	e.work.Go(func() { e.pollDances(ctx) })
	return e, nil
}

// Close ends the room's own work and waits for it. Drafts that are still open
// keep working; pending entries are gone.
func (e *Entries) Close() error {
	e.stop()
	e.work.Wait()
	return nil
}

func aliveInProc(pid uint32) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return !errors.Is(err, os.ErrNotExist)
}

// now is the clock's time in UTC.
func (e *Entries) now() time.Time { return e.o.Now().UTC() }

// newOp returns an operation id for a put.
func newOp() string { return rand.Text() }

// known is what the file system knows of the entry at p.
func (e *Entries) known(p place, session string) codec.Known {
	t, _ := codec.NameTime(p.name)
	return codec.Known{Agent: p.agent, SessionDir: p.session, Session: session, Time: t, Strict: e.o.Strict}
}

// own gives a new object to the process that made it, which matters where the
// mount serves several users. A store that may not do so keeps its own owner.
func (e *Entries) own(ctx context.Context, c room.Caller, m backing.Meta) backing.Meta {
	if c.PID == 0 || m.UID == c.UID {
		return m
	}
	owned, err := e.store.SetAttr(ctx, m.Key, backing.AttrChange{UID: &c.UID, GID: &c.GID})
	if err != nil {
		e.o.Log.Warn("a new file keeps the daemon's owner", "path", m.Key, "uid", c.UID, "err", err)
		return m
	}
	return owned
}
