package entries

import (
	"context"
	"errors"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// Problem is something that a check found.
type Problem = room.Problem

// CheckStore opens the room of the entries in store and checks it; where store
// can be written that finishes what a crash left half done.
func CheckStore(ctx context.Context, store backing.Store, o Options, report func(Problem)) error {
	_, err := store.Stat(ctx, IntentsKey)
	if err == nil {
		report(Problem{Path: string(IntentsKey), Warning: true, Leftover: true,
			Reason: "entries may not have been marked as superseded yet", Fix: "the next start does it",
			Mend: func(context.Context) (string, error) {
				e, err := New(store, o)
				if err != nil {
					return "", err
				}
				return "marked them", e.Close()
			}})
	} else if !errors.Is(err, backing.ErrNotFound) {
		report(room.ProblemOf(string(IntentsKey), 0, err))
	}
	e, err := New(store, o)
	if err != nil {
		return err
	}
	return errors.Join(e.Check(ctx, report), e.Close())
}

// Check reads every entry of the store with its versions, and reports what is
// wrong with them. It changes nothing and may run beside writers, of whose
// entries it then sees the old or the new version. The error is the store's
// or ctx's; problems are none.
func (e *Entries) Check(ctx context.Context, report func(Problem)) error {
	return e.eachIn(ctx, "", func(p place, m backing.Meta) error {
		if !m.Dir || !agentName(p.name) {
			return nil // the root holds other things, which are not ours to judge
		}
		return e.checkTree(ctx, p.key(), report)
	})
}

// checkTree checks an agent's or session's directory.
func (e *Entries) checkTree(ctx context.Context, dir backing.Key, report func(Problem)) error {
	return e.eachIn(ctx, dir, func(p place, m backing.Meta) error {
		kind, shown := p.kindOf(m)
		switch {
		case !shown:
			report(room.NotShown(m))
		case kind == room.Dir:
			return e.checkTree(ctx, p.key(), report)
		case kind == room.Object:
			return e.checkEntry(ctx, p, report)
		case kind == room.Plain && strings.HasSuffix(p.name, rejEnd):
			return room.CheckReject(ctx, e.store, p.key(), p.path, report)
		}
		return nil
	})
}

// eachIn calls f for every member of dir.
func (e *Entries) eachIn(ctx context.Context, dir backing.Key, f func(place, backing.Meta) error) error {
	return room.Each(ctx, e.store, dir, func(m backing.Meta) error {
		p, err := placeOf(string(m.Key))
		if err != nil {
			return nil // below something that was reported, or at the root
		}
		return f(p, m)
	})
}
