package invocations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"ctxfs/backing"
)

// DefaultLimit is how many entries Read returns where it is not told
// (reference/5, read).
const DefaultLimit = 50

// Filter says which entries are wanted; the zero value is the newest
// [DefaultLimit].
type Filter struct {
	Limit  int       // of the entries that match, the newest; 0 is DefaultLimit, below 0 all
	Tool   string    // only this tool; "" is every
	Failed bool      // only those without success
	Since  time.Time // only those of this time or later; zero is all
}

func (f Filter) matches(e *Entry) bool {
	return (f.Tool == "" || e.ToolName == f.Tool) && (!f.Failed || e.Failed()) && !e.Timestamp.Before(f.Since)
}

// Read returns the newest limit entries, the newest last; 0 is
// [DefaultLimit], below 0 all. It takes the time and memory of these entries,
// however long the history is.
func (h *History) Read(ctx context.Context, limit int) ([]Entry, error) {
	return h.Select(ctx, Filter{Limit: limit})
}

// Select returns the entries that match f, the newest last. It reads from the
// end until it has enough of them; as the times of entries are their
// writers', only the beginning of the history ends a search by time.
func (h *History) Select(ctx context.Context, f Filter) ([]Entry, error) {
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	var found []Entry
	for e, err := range h.Newest(ctx) {
		if err != nil {
			return nil, err
		}
		if !f.matches(&e) {
			continue
		}
		e.Line = slices.Clone(e.Line) // not a part of all that was read
		found = append(found, e)
		if len(found) == f.Limit {
			break
		}
	}
	slices.Reverse(found)
	return found, nil
}

// Newest yields all entries, the newest first, in constant memory; an error
// is the last that it yields. Lines that are no invocation, as another
// program may have written them, are left out and logged.
func (h *History) Newest(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		c, err := h.store.Open(ctx, fileKey, "")
		if errors.Is(err, backing.ErrNotFound) {
			return
		}
		if err != nil {
			yield(Entry{}, fmt.Errorf("open %s: %w", file, err))
			return
		}
		defer c.Close()
		h.newest(ctx, c, yield)
	}
}

func (h *History) newest(ctx context.Context, c backing.Content, yield func(Entry, error) bool) {
	lines := newBackwards(c, c.Size())
	skipped := 0
	for n := 0; ; n++ {
		line, err := lines.previous()
		if n%1024 == 0 && err == nil {
			err = ctx.Err()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		e, _, err := parse(line)
		if err != nil {
			skipped++
			continue
		}
		e.Line = line
		if !yield(e, nil) {
			break
		}
	}
	if skipped > 0 {
		h.o.Log.Warn("lines of the history are no invocations", "path", file, "lines", skipped)
	}
}
