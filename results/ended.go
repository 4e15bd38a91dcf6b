package results

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
)

// Ended is a session that adds no results any more.
type Ended struct {
	SessionID string // "" for what a daemon has left that is gone
	Results   int
	Bytes     int64
	Last      time.Time // when something was added last
}

// Ended returns the sessions to which nothing was added for as long as keep,
// the oldest first. Nobody says that a session has ended, but that.
func (r *Results) Ended(keep codec.Retention) []Ended {
	var order []string
	sessions := map[string]*Ended{}
	for _, rec := range r.index.of("") {
		id := rec.listed.SessionID
		s := sessions[id]
		if s == nil {
			s = &Ended{SessionID: id}
			sessions[id] = s
			order = append(order, id)
		}
		s.Results++
		s.Bytes += rec.size
		if rec.modTime.After(s.Last) {
			s.Last = rec.modTime
		}
	}
	var ended []Ended
	for _, id := range order {
		if s := sessions[id]; keep.Over(s.Last, r.o.Now()) {
			ended = append(ended, *s)
		}
	}
	return ended
}

// Left is what lies in a store of a daemon that was killed, while nobody has
// its results open: the next Open clears it, as it clears what every session
// has left. Nothing is Results 0.
func Left(ctx context.Context, store backing.Store) (Ended, error) {
	var left Ended
	for after := ""; ; {
		page, err := store.List(ctx, roomDir, after, clearPage)
		if errors.Is(err, backing.ErrNotFound) {
			return left, nil
		}
		if err != nil {
			return left, fmt.Errorf("look for left results: %w", err)
		}
		for _, m := range page {
			after = m.Key.Name()
			if m.Dir {
				continue
			}
			left.Results++
			left.Bytes += m.Size
			if m.ModTime.After(left.Last) {
				left.Last = m.ModTime
			}
		}
		if len(page) < clearPage {
			return left, nil
		}
	}
}
