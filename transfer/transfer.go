package transfer

import (
	"context"
	"errors"
	"fmt"

	"ctxfs/backing"
)

// Store is what can be copied, and copied into.
type Store interface {
	backing.Store
	backing.Versioned
}

// Options say what is copied and how. Part is needed.
type Options struct {
	// Part reports whether the member key of the top, or of backing.Own, is
	// copied, with all below it.
	Part func(key backing.Key) bool
	// Owners says that the destination can say whose things are. Otherwise
	// they all belong to who copies.
	Owners bool
	// Delete removes from the destination what the source does not have.
	Delete bool
	// Workers is how many objects are copied at once; 0 is DefaultWorkers.
	Workers int
	// LeftOut is told what of the source is not copied, and why; may be nil.
	// Like Progress it is called by one goroutine at a time.
	LeftOut func(key backing.Key, why string)
	// Progress is told of each object, and again within large ones; may be nil.
	Progress func(Progress)
}

// DefaultWorkers is for stores on one machine, or near it.
const DefaultWorkers = 8

// Progress is how far a pass has come.
type Progress struct {
	Stage   Stage
	Objects int   // that were looked at, versions with them
	Bytes   int64 // that were copied or compared
	Key     backing.Key
}

// Stage is what a pass does.
type Stage string

const (
	Copying   Stage = "copying"
	Comparing Stage = "comparing"
)

// Stats is what a Run did.
type Stats struct {
	Objects, Versions, Dirs int   // copied
	Bytes                   int64 // of them
	There                   int   // objects and versions that an earlier run had copied
	Again                   int   // passes in which the source had changed
	Removed                 int   // from the destination
}

// ErrRestless is why a copy has no end.
var ErrRestless = errors.New("the source is being written to all the time: copy it when less is going on; what was copied stays, and is not copied again")

// ExtraError says that the destination has what the source does not.
type ExtraError struct {
	Count int
	First backing.Key
}

func (e *ExtraError) Error() string {
	return fmt.Sprintf("the destination has %s, which the source does not have (any more)%s", e.First, others(e.Count-1))
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d others", n)
}

// maxPasses bounds how often a source that is written to is gone through.
const maxPasses = 10

// Run makes dst, which [Begin] has marked, what src is. It returns nil when a
// pass that has compared every byte has found both the same. *ExtraError,
// ErrRestless; whatever it returns, it can be run again.
func Run(ctx context.Context, src, dst Store, o Options) (Stats, error) {
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers
	}
	var all Stats
	for n := range maxPasses {
		p := newPass(src, dst, o, n == 0)
		err := p.run(ctx)
		all.add(p.stats)
		if n == 0 {
			all.There = p.stats.There
		}
		switch {
		case err != nil:
			return all, err
		case n == 0:
		case p.changes == 0 && p.extra.Count > 0:
			return all, &p.extra
		case p.changes == 0:
			return all, nil
		default:
			all.Again++
		}
	}
	return all, ErrRestless
}

func (s *Stats) add(of Stats) {
	s.Objects += of.Objects
	s.Versions += of.Versions
	s.Dirs += of.Dirs
	s.Bytes += of.Bytes
	s.Removed += of.Removed
}
