package results

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

const (
	// MemoryBelow is the size, in bytes, from which a result lies on disk;
	// a smaller one stays in memory (reference/2, Storage Thresholds).
	MemoryBelow = 32 << 10
	// MemoryTotal is how many bytes of results are in memory at the most;
	// beyond it small ones lie on disk too.
	MemoryTotal = 64 << 20
	// MaxSize is the length of the longest result, in bytes; a longer one is
	// refused with EFBIG.
	MaxSize = 1 << 30
)

// Options of [Open]. The zero value works.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log gets refusals and faults, never contents; nil is slog.Default().
	Log *slog.Logger
	// Journal gets every refusal; nil keeps none.
	Journal *room.Journal
	// MemoryTotal replaces the constant of that name; 0 is that.
	MemoryTotal int64
}

// Results holds the tool results of all sessions.
type Results struct {
	store backing.Store
	o     Options
	names nameLocks
	index index
	watch room.Announcer
	own   backing.Meta // of the directory, for its owner and mode
}

// Open returns the results in store: none, as what an earlier run left is
// cleared and not restored (reference/2, Session Resume and Context). The
// caller closes it before the store.
func Open(ctx context.Context, store backing.Store, o Options) (*Results, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.MemoryTotal == 0 {
		o.MemoryTotal = MemoryTotal
	}
	r := &Results{store: store, o: o}
	r.index.init(o.MemoryTotal, o.Now())
	if store.ReadOnly() {
		return r, nil
	}
	if _, err := store.MakeDir(ctx, roomDir, 0o755); err != nil && !errors.Is(err, backing.ErrExists) {
		return nil, fmt.Errorf("make %s: %w", roomDir, err)
	}
	var err error
	if r.own, err = store.Stat(ctx, roomDir); err != nil {
		return nil, fmt.Errorf("look at %s: %w", roomDir, err)
	}
	if err := r.empty(ctx); err != nil {
		return nil, fmt.Errorf("clear the results of an earlier run: %w", err)
	}
	return r, nil
}

// Close clears all results. Contents that are open stay readable.
func (r *Results) Close() error {
	if r.store.ReadOnly() {
		return nil
	}
	r.index.clear(r.o.Now())
	if err := r.empty(context.Background()); err != nil {
		return fmt.Errorf("clear the results: %w", err)
	}
	return nil
}

// clearPage is how many names one listing of a clearing asks for.
const clearPage = 512

// empty removes every file below the room's directory.
func (r *Results) empty(ctx context.Context) error {
	var errs []error
	for after := ""; ; {
		page, err := r.store.List(ctx, roomDir, after, clearPage)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, m := range page {
			after = m.Key.Name()
			if m.Dir {
				r.o.Log.Warn("a directory among the results is left alone", "path", m.Key)
				continue
			}
			if err := r.unlink(ctx, m.Key); err != nil {
				errs = append(errs, err)
			}
		}
		if len(page) < clearPage {
			return errors.Join(errs...)
		}
	}
}

// unlink removes a file, without waiting for the disk where the store lets
// one choose: what comes back after a crash is cleared by the next Open.
func (r *Results) unlink(ctx context.Context, key backing.Key) error {
	var err error
	if files, ok := r.store.(backing.Files); ok {
		err = files.Unlink(ctx, key)
	} else {
		err = r.store.Remove(ctx, key, "")
	}
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return fmt.Errorf("remove %s: %w", key, err)
	}
	return nil
}

// Status is how much there is, and where.
type Status struct {
	Results     int   `json:"results"`
	InMemory    int   `json:"inMemory"`
	MemoryBytes int64 `json:"memoryBytes"`
	DiskBytes   int64 `json:"diskBytes"`
}

// Status counts the results of all sessions.
func (r *Results) Status() Status { return r.index.status() }
