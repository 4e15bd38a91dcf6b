package housekeeping

import (
	"context"
	"fmt"
	"time"

	"ctxfs/results"
)

// clearResults clears the results of sessions that have ended.
func (w *work) clearResults(ctx context.Context, done *Done) error {
	if w.Results == nil {
		return w.clearLeft(ctx, done)
	}
	keep := w.request.Keep.Default
	for _, s := range w.Results.Ended(keep) {
		if !w.request.DryRun {
			if _, err := w.Results.Clear(ctx, s.SessionID); err != nil {
				return err
			}
		}
		why := fmt.Sprintf("the session has added nothing since %s, kept for %s", s.Last.UTC().Format(time.DateOnly), keep)
		if err := w.countResults(s, "results/"+s.SessionID+"-*", why, done); err != nil {
			return err
		}
	}
	return nil
}

// clearLeft clears what a daemon has left that is gone: to open the room is to
// clear it.
func (w *work) clearLeft(ctx context.Context, done *Done) error {
	left, err := results.Left(ctx, w.Store)
	if err != nil || left.Results == 0 {
		return err
	}
	if !w.request.DryRun {
		r, err := results.Open(ctx, w.Store, results.Options{})
		if err != nil {
			return err
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	return w.countResults(left, "results/", "left by a daemon that is gone", done)
}

func (w *work) countResults(s results.Ended, path, why string, done *Done) error {
	done.Results += s.Results
	done.Bytes += s.Bytes
	return w.emit(Event{Item: &Item{Action: ActionClear, What: "results", Path: path, Bytes: s.Bytes, Time: s.Last.UTC(), Why: why}})
}
