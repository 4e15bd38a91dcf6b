package access

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"

	"ctxfs/backing/joined"
	"ctxfs/backing/localdir"
	"ctxfs/room"
	"ctxfs/transfer"
)

// found is what a check found, in so few words that two can be compared.
type found struct {
	problems, warnings int
	sum                uint64 // of all of them, in whatever order
}

func (f *found) add(p room.Problem) {
	if p.Warning {
		f.warnings++
	} else {
		f.problems++
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %d %q %q %v", p.Path, p.Line, p.Field, p.Reason, p.Warning) // a hash takes everything
	f.sum += h.Sum64()
}

func (f found) String() string {
	return fmt.Sprintf("%d problems and %d warnings", f.problems, f.warnings)
}

// agree checks both stores, but for the paths that outside names, and returns
// an error where one check finds what the other does not.
func agree(ctx context.Context, from, to Location, src, dst transfer.Store, c *Copied, outside func(path string) bool, o CopyOptions) error {
	var both [2]found
	for i, at := range []struct {
		l     Location
		store transfer.Store
	}{{from, src}, {to, dst}} {
		report := func(p room.Problem) {
			if !p.Leftover && !outside(p.Path) {
				both[i].add(p)
			}
		}
		if err := checkOpen(ctx, at.l, at.store, o, report); err != nil {
			return err
		}
	}
	if both[0] != both[1] {
		return fmt.Errorf("the check of %s finds %v, that of %s %v, and not the same ones: the source is being written to, or one of them is damaged; copy again when nobody writes it", from, both[0], to, both[1])
	}
	c.Problems, c.Warnings = both[0].problems, both[0].warnings
	return nil
}

// checkOpen checks the rooms of a store that is open. A database gets an empty
// directory beside it: what belongs to one host has no part in a copy.
func checkOpen(ctx context.Context, l Location, store transfer.Store, o CopyOptions, report func(room.Problem)) (err error) {
	w := watched{looking: o.Checking}
	if !l.Remote() {
		files, ok := store.(withFiles)
		if !ok {
			return fmt.Errorf("check %s: %T has no files", l, store)
		}
		w.withFiles = files
		return checkRooms(ctx, w, "", CheckOptions{Log: o.Log}, report)
	}
	dir, err := os.MkdirTemp("", "ctxfs-copy-")
	if err != nil {
		return fmt.Errorf("check %s: %w", l, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	beside, err := localdir.Open(dir, localdir.Options{Log: o.Log})
	if err != nil {
		return fmt.Errorf("check %s: %w", l, err)
	}
	w.withFiles = joined.New(store, beside, sideOf)
	return errors.Join(checkRooms(ctx, w, "", CheckOptions{Log: o.Log}, report), beside.Close())
}
