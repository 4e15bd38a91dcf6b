package entries

import (
	"context"
	"slices"

	"ctxfs/backing"
)

// Discard removes what [Entries.Aged] found, as it was then, for whoever keeps
// it elsewhere, and returns an error, or nil, for each. What was changed since
// is left alone: backing.ErrConflict or backing.ErrNotFound. Directories of
// sessions that this empties go too, but where other hosts may have files of
// their own in them, which they would not see any more.
func (e *Entries) Discard(ctx context.Context, list []Aged) []error {
	removals := make([]backing.Removal, len(list))
	for i, a := range list {
		removals[i] = backing.Removal{Key: a.Meta.Key, Versions: a.Versions}
		if a.Kind != AgedVersions {
			removals[i].Object = a.Meta.Revision
		}
	}
	var sessions []string
	if !backing.IsShared(e.store) {
		sessions = sessionsOf(list)
	}
	for _, dir := range sessions {
		// Nothing must be begun in what goes. These are the only locks of
		// several paths that one holds, and it takes no other.
		defer e.paths.lock(dir)()
		if len(e.pendingIn(dir, "")) == 0 {
			removals = append(removals, backing.Removal{Key: backing.Key(dir), Dir: true})
		}
	}
	errs := e.store.Discard(ctx, removals)
	for i, err := range errs {
		if err != nil {
			continue
		}
		path := string(removals[i].Key)
		e.mu.Lock()
		delete(e.rejectOf, path)
		e.mu.Unlock()
		e.changed(path)
	}
	return errs[:len(list)]
}

// sessionsOf are the directories of sessions from which something of list
// goes, in their order.
func sessionsOf(list []Aged) []string {
	var dirs []string
	for _, a := range list {
		if p, err := placeOf(a.Path()); err == nil && p.session != "" && a.Kind != AgedVersions {
			dirs = append(dirs, p.dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
