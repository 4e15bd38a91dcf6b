package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
	"ctxfs/backing/cache"
)

// Options say how a store is opened. The zero value is what most want.
type Options struct {
	ReadOnly bool         // every write is backing.ErrReadOnly
	Log      *slog.Logger // what nobody is there to return an error to; nil is slog.Default
	// Alone fails with ErrInUse where a host follows the store's changes, and
	// is what the next one who wants it so is told. It keeps nobody from
	// opening the store.
	Alone bool
	// Timeout is how long a call tries to reach the database before it fails,
	// and again how long it tries to learn what became of a write whose
	// connection broke; 0 is DefaultTimeout.
	Timeout time.Duration
	// Poll is the time between two looks at the changes of others; 0 is
	// DefaultPoll.
	Poll time.Duration
	// Keep is how long changes are kept for watchers that were away; 0 is
	// DefaultKeep.
	Keep time.Duration
	// TempDir is where uploads are put together and contents are cached; "" is
	// os.TempDir.
	TempDir string
	// Cache is how many bytes of contents are kept in a file in TempDir; 0 is
	// DefaultCache, less is none: every read is one of the database.
	Cache int64
}

const (
	DefaultTimeout = 10 * time.Second
	DefaultPoll    = 20 * time.Millisecond
	DefaultKeep    = time.Hour
	DefaultCache   = 512 << 20 // bytes
	// CachedMembers is how many members of directories are kept in memory.
	CachedMembers = 100_000
)

func (o Options) complete() Options {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	if o.Cache == 0 {
		o.Cache = DefaultCache
	}
	return o
}

// Store is a backing.Store in a PostgreSQL database. Safe for concurrent use,
// and any number of processes and hosts may have the same one open.
type Store struct {
	pool  *pgxpool.Pool
	o     Options
	alone *pgx.Conn // nil without Options.Alone

	life   sync.RWMutex // guards closed; held for reading by every call
	closed bool

	outage    outage
	unsettled unsettled
	reading   reading
	feed      *feed
	sweeper   *sweeper

	listings *cache.Listings // marked before watchers are told
	contents *cache.Contents
	ahead    ahead
}

var (
	_ backing.Store     = (*Store)(nil)
	_ backing.Shared    = (*Store)(nil)
	_ backing.Cached    = (*Store)(nil)
	_ backing.Versioned = (*Store)(nil)
)

// Open opens the store that url names, as libpq understands it: a URL
// postgres://… or a list of parameters, with PGPASSWORD, ~/.pgpass, PGSSLMODE
// and the others where url says nothing. search_path=NAME chooses the schema
// that the store lies in. What the store needs is made in an empty schema, and
// brought up to date in an older one; a newer one is an error.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	o = o.complete()
	pool, err := connect(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("open the store in PostgreSQL: %w", err)
	}
	s := &Store{pool: pool, o: o, listings: cache.NewListings(CachedMembers), contents: cache.NewContents(o.TempDir, o.Cache, o.Log)}
	if o.Alone {
		if s.alone, err = takeAlone(ctx, pool); err != nil {
			pool.Close()
			return nil, fmt.Errorf("open the store in PostgreSQL: %w", err)
		}
	}
	s.reading.free = pool.Close
	s.feed = newFeed(s)
	s.sweeper = startSweeper(s)
	return s, nil
}

// ReadOnly reports whether every write is backing.ErrReadOnly.
func (s *Store) ReadOnly() bool { return s.o.ReadOnly }

// Shared marks the store as one that other hosts write too.
func (s *Store) Shared() {}

// Close waits for running calls and ends every Watch. Contents that are open
// stay readable; with the last of them the connections go.
func (s *Store) Close() error {
	s.feed.close()
	s.sweeper.close()
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return errClosed
	}
	s.closed = true
	giveBack(s.alone, s.o.Timeout)
	s.reading.storeClosed()
	return s.contents.Close()
}

var errClosed = errors.New("the store is closed")

// begin opens a call that reads key; each that returns nil is followed by end.
func (s *Store) begin(key backing.Key) error {
	if err := checkKey(key); err != nil {
		return err
	}
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return errClosed
	}
	return nil
}

// beginWrite is begin for a call that changes what is at key.
func (s *Store) beginWrite(key backing.Key) error {
	if key == "" || key == backing.Own {
		return fmt.Errorf("%w: %q cannot be written", backing.ErrBadKey, key)
	}
	return s.beginChange(key)
}

// beginChange is beginWrite for what may be done to the top too.
func (s *Store) beginChange(key backing.Key) error {
	if s.o.ReadOnly {
		return backing.ErrReadOnly
	}
	return s.begin(key)
}

func (s *Store) end() { s.life.RUnlock() }

// maxKey is the length of the longest key, in bytes: PostgreSQL's indexes
// take rows of at most a third of a page.
const maxKey = 2048

func checkKey(key backing.Key) error {
	if len(key) > maxKey {
		return fmt.Errorf("%w: a key of %d bytes, %d is the most", backing.ErrNameTooLong, len(key), maxKey)
	}
	_, err := backing.ParseKey(string(key))
	return err
}
