package memories

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

const (
	// MaxContext is the length of the longest context document, in bytes.
	MaxContext = 4 << 20
	// MaxEntry is the length of the longest line of an entry, in bytes.
	MaxEntry = 1 << 20
	// BackendMaxChars is what the backend of reference/3 takes at most as a
	// context document, in characters; see [Options].MaxChars.
	BackendMaxChars = 65536
	// DefaultBackendTimeout is how long one request to the backend may take.
	DefaultBackendTimeout = 10 * time.Second
	// DefaultVault stands for {vault} where none is given.
	DefaultVault = "default"
)

// Options say how memories are kept. The zero value is ready to use.
type Options struct {
	// Own opens a store of their own, that of $CONTEXT_DATA_DIR, which holds
	// them at its top, each in <memory>, with its own lock and outbox. It is
	// closed with them. nil: they lie in the given store.
	Own func() (backing.Store, error)
	// Queue is how jobs are queued and retried.
	Queue ExecutorOptions
	// MaxChars is the most characters of a context document; 0 is no limit
	// but MaxContext.
	MaxChars int

	// Backend is the URL to which every entry is POSTed; {vault} and
	// {memory} in it are replaced. Empty: entries stay here.
	Backend        string
	Vault          string        // "" is DefaultVault
	Header         http.Header   // of each request, Authorization for one
	BackendTimeout time.Duration // of one request; 0 is DefaultBackendTimeout
	BackendRetry   Backoff       // between requests; they never end
	// Lease is for how long a host that delivers a memory may be silent before
	// another one goes on, where several write the store; 0 is DefaultLease.
	Lease time.Duration

	Now     func() time.Time // nil is time.Now
	NewID   func() string    // of an entry, its idempotency key; nil is random
	Log     *slog.Logger     // nil is slog.Default; never gets contents
	Journal *room.Journal    // of refusals; nil keeps none
}

// Memories are the memories of one store. It implements [room.Room]. Safe for
// concurrent use.
type Memories struct {
	store backing.Store
	files backing.Files // nil where the store is no local directory
	own   backing.Store // to be closed with the memories; nil where store is the caller's
	top   backing.Key   // of the memories in the store
	o     Options
	boot  string        // tells the runs of the daemon apart
	count atomic.Uint64 // numbers revisions

	queue  *ShardExecutor
	outbox *outbox // nil without a backend

	mu    sync.Mutex // guards what follows; taken before a memory's
	known map[string]*memory

	watchers room.Announcer
}

var _ room.Room = (*Memories)(nil)

// Open opens the memories of store, or of o.Own, after it has finished what a
// crash left half done, and goes on delivering what lies in the outbox. The
// caller closes it, and then the store.
func Open(store backing.Store, o Options) (*Memories, error) {
	s := &Memories{store: store, top: roomDir, o: o.orDefault(),
		known: map[string]*memory{}, boot: rand.Text()[:8]}
	if o.Own != nil {
		own, err := o.Own()
		if err != nil {
			return nil, fmt.Errorf("open the directory of memories: %w", err)
		}
		s.store, s.own, s.top = own, own, ""
	}
	s.files, _ = s.store.(backing.Files)
	if err := s.start(context.Background()); err != nil {
		if s.own != nil {
			err = errors.Join(err, s.own.Close())
		}
		return nil, fmt.Errorf("open memories: %w", err)
	}
	return s, nil
}

func (s *Memories) start(ctx context.Context) error {
	if !s.store.ReadOnly() {
		if err := s.repair(ctx); err != nil {
			return err
		}
		if s.o.Backend != "" {
			box, err := newOutbox(ctx, s)
			if err != nil {
				return err
			}
			s.outbox = box
		}
	}
	q := s.o.Queue
	q.Permanent = permanent
	s.queue = NewShardExecutor(q)
	if s.outbox != nil {
		s.outbox.start()
	}
	return nil
}

func (o Options) orDefault() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Vault == "" {
		o.Vault = DefaultVault
	}
	if o.BackendTimeout <= 0 {
		o.BackendTimeout = DefaultBackendTimeout
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	o.BackendRetry = o.BackendRetry.orDefault()
	return o
}

// permanent reports that trying again cannot mend err.
func permanent(err error) bool {
	for _, no := range []error{backing.ErrReadOnly, backing.ErrNotDir, backing.ErrIsDir, backing.ErrNotRegular,
		backing.ErrBadKey, backing.ErrNameTooLong, backing.ErrNotFound, errNotAgain} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// errNotAgain marks a failure after which the job must not be repeated.
var errNotAgain = errors.New("not tried again")

// Close is Shutdown without a limit of time.
func (s *Memories) Close() error { return s.Shutdown(context.Background()) }

// Shutdown takes no more work, writes everything that was queued, and stops
// delivering; the outbox keeps what is left. A context document that could
// not be written is tried once more and is named in the error. When ctx ends
// first, what is still queued is lost, and the error says so.
func (s *Memories) Shutdown(ctx context.Context) error {
	err := s.queue.Close(ctx)
	for _, m := range s.all() {
		if t := m.unwritten(); t != nil && err == nil {
			if werr := s.writeText(context.WithoutCancel(ctx), m, t, backing.AttrChange{}); werr != nil {
				err = errors.Join(err, fmt.Errorf("the context of memory %s is not on disk: %w", m.name, werr))
			}
		}
	}
	if s.outbox != nil {
		s.outbox.close()
	}
	if s.own != nil {
		err = errors.Join(err, s.own.Close())
	}
	return err
}

func (s *Memories) all() []*memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*memory, 0, len(s.known))
	for _, m := range s.known {
		all = append(all, m)
	}
	return all
}

// nextRevision returns a word that no other call, of this run or another,
// returns.
func (s *Memories) nextRevision() backing.Revision {
	return backing.Revision(fmt.Sprintf("%s%s-%d", queuedPrefix, s.boot, s.count.Add(1)))
}

// queuedPrefix begins the revisions that this package gives.
const queuedPrefix = "queued-"
