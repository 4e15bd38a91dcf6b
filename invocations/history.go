package invocations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

const (
	roomDir  = "invocations"
	fileName = "context.jsonl"
	rejName  = fileName + ".rej"

	// file is the history's path from the store's root, for refusals.
	file = roomDir + "/" + fileName

	fileKey backing.Key = file
	rejKey  backing.Key = roomDir + "/" + rejName
)

// Options of [Open]. The zero value works.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID makes ids; nil is uuid.New.
	NewID func() uuid.UUID
	// Log gets refusals, repairs and what Record cannot return; nil is
	// slog.Default().
	Log *slog.Logger
	// Journal gets every refusal; nil keeps none.
	Journal *room.Journal
}

// History is the append-only history of tool invocations (reference/5,
// ContextHistory).
type History struct {
	store backing.Store
	o     Options

	mu  sync.Mutex // serialises appends, held across the call to the store; guards end
	end int64      // of the file after our last append, in bytes

	rej sync.Mutex // serialises additions to the .rej; taken after mu
}

// Open returns the history in store, after it has repaired what a crash left
// at its end. The caller closes it before the store.
func Open(ctx context.Context, store backing.Store, o Options) (*History, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.New
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &History{store: store, o: o}
	if store.ReadOnly() {
		return h, nil
	}
	if _, err := store.MakeDir(ctx, roomDir, 0o755); err != nil && !errors.Is(err, backing.ErrExists) {
		return nil, fmt.Errorf("make %s: %w", roomDir, err)
	}
	// A store that other hosts write adds whole lines or nothing, and what
	// looks torn in it is a line that is just coming.
	if !backing.IsShared(store) {
		if err := h.repair(ctx); err != nil {
			return nil, fmt.Errorf("repair %s: %w", file, err)
		}
	}
	// It is there from the start, so that tail -f finds it.
	m, err := store.Append(ctx, fileKey, nil)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", file, err)
	}
	h.end = m.Size
	return h, nil
}

// Append adds e, with what it leaves out filled in, and returns it so. It
// survives the end of this process, and a loss of power after Sync. It
// returns a *codec.Refusal where e is no invocation.
func (h *History) Append(ctx context.Context, e Entry) (Entry, error) {
	if e.Timestamp.IsZero() {
		e.Timestamp = h.o.Now()
	}
	if e.ID == uuid.Nil {
		e.ID = h.o.NewID()
	}
	text, err := e.MarshalJSON()
	if err != nil {
		return Entry{}, refuse("", err.Error(), "give values that are JSON")
	}
	// What is written is what can be read again.
	done, _, err := parse(text)
	if err != nil {
		return Entry{}, fmt.Errorf("append an invocation: %w", err)
	}
	done.Line = text
	if err := h.add(ctx, append(text, '\n')); err != nil {
		return Entry{}, err
	}
	return done, nil
}

// Sync makes everything that was appended before durable.
func (h *History) Sync(ctx context.Context) error {
	if h.store.ReadOnly() {
		return nil
	}
	if err := h.store.Sync(ctx, fileKey); err != nil {
		return fmt.Errorf("sync %s: %w", file, err)
	}
	return nil
}

// Close makes the history durable. Nothing must be appended afterwards.
func (h *History) Close() error { return h.Sync(context.Background()) }

// add appends whole lines in one piece.
func (h *History) add(ctx context.Context, lines []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addLocked(ctx, lines)
}

func (h *History) addLocked(ctx context.Context, lines []byte) error {
	m, err := h.store.Stat(ctx, fileKey)
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return fmt.Errorf("append to %s: %w", file, err)
	}
	if err == nil && m.Size != h.end {
		// Another program has written to the file in the store.
		torn, err := h.endsTorn(ctx, m.Size)
		if err != nil {
			return fmt.Errorf("append to %s: %w", file, err)
		}
		if torn {
			lines = append([]byte("\n"), lines...)
		}
	}
	m, err = h.store.Append(ctx, fileKey, lines)
	if err != nil {
		return fmt.Errorf("append to %s: %w", file, err)
	}
	h.end = m.Size
	return nil
}

// endsTorn reports whether the file ends in the middle of a line.
func (h *History) endsTorn(ctx context.Context, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	c, err := h.store.Open(ctx, fileKey, "")
	if err != nil {
		return false, err
	}
	defer c.Close()
	last := make([]byte, 1)
	if _, err := c.ReadAt(last, c.Size()-1); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return last[0] != '\n', nil
}

// journal notes a refusal.
func (h *History) journal(r codec.Refusal, c room.Caller) {
	h.o.Log.Info("refused", "path", r.Path, "errno", r.Errno.Error(), "field", r.Field, "line", r.Line, "reason", r.Reason)
	if h.o.Journal == nil {
		return
	}
	h.o.Journal.Refuse(r, c, h.o.Now())
	if err := h.o.Journal.Err(); err != nil {
		h.o.Log.Warn("refusals are remembered in memory only", "err", err)
	}
}
