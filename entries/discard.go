package entries

import (
	"context"
	"errors"

	"ctxfs/backing"
	"ctxfs/room"
)

// Discard removes what [Entries.Aged] found, as it was then, for whoever keeps
// it elsewhere, and returns an error, or nil, for each. What was changed since
// is left alone: backing.ErrConflict or backing.ErrNotFound. Directories of
// sessions that this empties go too.
func (e *Entries) Discard(ctx context.Context, list []Aged) []error {
	removals := make([]backing.Removal, len(list))
	for i, a := range list {
		removals[i] = backing.Removal{Key: a.Meta.Key, Versions: a.Versions}
		if a.Kind != AgedVersions {
			removals[i].Object = a.Meta.Revision
		}
	}
	errs := e.store.Discard(ctx, removals)
	sessions := map[string]bool{}
	for i, a := range list {
		if errs[i] != nil || a.Kind == AgedVersions {
			continue
		}
		e.mu.Lock()
		delete(e.rejectOf, a.Path())
		e.mu.Unlock()
		e.changed(a.Path())
		if p, err := placeOf(a.Path()); err == nil && p.session != "" {
			sessions[p.dir] = true
		}
	}
	for dir := range sessions {
		err := e.RemoveDir(ctx, room.Caller{}, dir)
		if err == nil {
			e.changed(dir)
		} else if !errors.Is(err, backing.ErrNotEmpty) && !errors.Is(err, backing.ErrNotFound) && ctx.Err() == nil {
			e.o.Log.Warn("the empty directory of a session stays", "path", dir, "err", err)
		}
	}
	return errs
}
