package variables

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

const (
	// DefaultMemoryCeiling is how much memory session variables use, in
	// bytes, before the least recently used go to disk.
	DefaultMemoryCeiling = 256 << 20
	// DefaultSpillAbove is the size in bytes above which a session variable
	// goes to disk at once.
	DefaultSpillAbove = 32 << 10
	// MetadataAge is how long metadata of a file is believed without
	// another look.
	MetadataAge = time.Second
)

// Options say how variables are kept. The zero value is ready to use.
type Options struct {
	MemoryCeiling int64            // bytes; 0 is DefaultMemoryCeiling
	SpillAbove    int64            // bytes; 0 is DefaultSpillAbove
	Now           func() time.Time // nil is time.Now
	Rand          io.Reader        // tells this run's refs from those of others; nil is crypto/rand
	Log           *slog.Logger     // nil is slog.Default
	Journal       *room.Journal    // of refusals; nil keeps none
	Summarizer    Summarizer       // asked before the built-in summaries; nil is none
}

// Variables are the variables of one store. [Variables.Room] shows them as files. Safe
// for concurrent use.
type Variables struct {
	store backing.Store
	files backing.Files // nil where the store is no local directory
	o     Options
	start time.Time
	boot  string        // tells the runs of the daemon apart
	count atomic.Uint64 // numbers revisions and operations

	memory    *memory
	labels    *labels
	known     *known
	drafts    *drafts
	summaries *summaries
	watchers  room.Announcer
	seed      maphash.Seed
	stripes   [256]sync.Mutex // serialise what changes one name; of two, the lower index first
}

// New opens the variables of store, and removes what session variables of an
// earlier run left on its disk.
func New(store backing.Store, o Options) (*Variables, error) {
	if o.MemoryCeiling == 0 {
		o.MemoryCeiling = DefaultMemoryCeiling
	}
	if o.SpillAbove == 0 {
		o.SpillAbove = DefaultSpillAbove
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	var boot [6]byte
	if _, err := io.ReadFull(o.Rand, boot[:]); err != nil {
		return nil, fmt.Errorf("open variables: %w", err)
	}
	v := &Variables{store: store, o: o, start: o.Now(), boot: hex.EncodeToString(boot[:]), seed: maphash.MakeSeed()}
	v.files, _ = store.(backing.Files)
	v.memory = newMemory()
	v.labels = newLabels(store)
	v.known = newKnown(o.Now)
	v.drafts = newDrafts()
	v.summaries = newSummaries()
	if err := v.emptySpill(context.Background()); err != nil {
		return nil, fmt.Errorf("open variables: %w", err)
	}
	return v, nil
}

// Close ends all sessions: their variables are gone, unless they are
// persisted. The store stays open.
func (v *Variables) Close() error {
	v.memory.clear()
	return v.emptySpill(context.Background())
}

// next returns a word that no other call, of this run or another, returns.
func (v *Variables) next() string {
	return fmt.Sprintf("m%s-%d", v.boot, v.count.Add(1))
}

// lock takes the stripes of names, and returns what gives them back.
func (v *Variables) lock(names ...name) (unlock func()) {
	var at [256]bool
	for _, n := range names {
		h := maphash.String(v.seed, n.path())
		at[h%uint64(len(at))] = true
	}
	for i := range at {
		if at[i] {
			v.stripes[i].Lock()
		}
	}
	return func() {
		for i := range at {
			if at[i] {
				v.stripes[i].Unlock()
			}
		}
	}
}

// Status is how full the store is.
type Status struct {
	Variables    int   `json:"variables"`    // in all scopes, in memory and files
	MemoryBytes  int64 `json:"memoryBytes"`  // of session variables in memory
	MemoryLimit  int64 `json:"memoryLimit"`  // the ceiling
	Spilled      int   `json:"spilled"`      // session variables on disk
	SpilledBytes int64 `json:"spilledBytes"` // of those
}

// Status counts the variables. It lists the scopes' directories and reads no
// content.
func (v *Variables) Status(ctx context.Context) (Status, error) {
	s := v.memory.status()
	s.MemoryLimit = v.o.MemoryCeiling
	scopes, err := v.fileScopes(ctx)
	if err != nil {
		return s, fmt.Errorf("count variables: %w", err)
	}
	for _, scope := range scopes {
		err := v.eachFile(ctx, scope, "", func(m backing.Meta) bool {
			s.Variables++
			return true
		})
		if err != nil && !errors.Is(err, backing.ErrNotFound) {
			return s, fmt.Errorf("count variables of %s: %w", scope, err)
		}
	}
	return s, nil
}
