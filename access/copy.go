package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/backing/postgres"
	"ctxfs/codec"
	"ctxfs/transfer"
)

// CopyOptions say how a store is copied. The zero value works.
type CopyOptions struct {
	// Delete removes from an unfinished copy what the source does not have any
	// more.
	Delete bool
	// Resumed is told, before anything is copied, that an unfinished copy is
	// gone on with; may be nil. So may the others.
	Resumed  func()
	LeftOut  func(path, why string)
	Progress func(transfer.Progress)
	// Checking is told of each file that the checks of both stores read.
	Checking func(backing.Key)
	Log      *slog.Logger // nil discards
}

// Copied is what a copy came to.
type Copied struct {
	transfer.Stats
	Problems, Warnings int // that the checks of both stores find, the same in both
}

// Copy makes the store at to, which is empty or an unfinished copy of that at
// from, a copy of it; see package transfer for what that means. from may be
// in use. Nobody may have to mounted: *localdir.LockedError and
// postgres.ErrInUse say that somebody has, *transfer.OccupiedError that there
// is something in it. Until Copy has returned nil, which it does when both
// stores have the same contents and the checks of both agree, the copy cannot
// be opened for anything else; whatever it returns, it can be called again.
func Copy(ctx context.Context, from, to Location, o CopyOptions) (c Copied, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := apart(from, to); err != nil {
		return c, err
	}
	src, err := openSource(ctx, from, o.Log)
	if err != nil {
		return c, err
	}
	dst, err := openDestination(ctx, to, o.Log)
	if err != nil {
		return c, errors.Join(err, src.Close())
	}
	c, err = between(ctx, from, to, src, dst, o)
	return c, errors.Join(err, dst.Close(), src.Close())
}

// apart refuses directories one of which is, or lies in, the other.
func apart(from, to Location) error {
	if from.Name == to.Name {
		return fmt.Errorf("copy %s: %w", from, transfer.ErrSame)
	}
	if !from.Remote() && !to.Remote() && (strings.HasPrefix(from.Name+"/", to.Name+"/") || strings.HasPrefix(to.Name+"/", from.Name+"/")) {
		return fmt.Errorf("copy %s to %s: one of them lies in the other", from, to)
	}
	return nil
}

// uncached is for stores whose bytes are compared: what this host put, or has
// read before, must come from the database.
const uncached = -1

// openSource opens a store to be read, beside whoever writes it.
func openSource(ctx context.Context, l Location, log *slog.Logger) (transfer.Store, error) {
	if !l.Remote() {
		store, err := localdir.Open(l.Name, localdir.Options{ReadOnly: true, Log: log})
		if err != nil {
			return nil, err
		}
		return store, nil
	}
	store, err := postgres.Open(ctx, l.url, postgres.Options{ReadOnly: true, Cache: uncached, Log: log})
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", l, err)
	}
	return store, nil
}

// openDestination opens a store that nobody else uses.
func openDestination(ctx context.Context, l Location, log *slog.Logger) (transfer.Store, error) {
	if !l.Remote() {
		store, err := localdir.Open(l.Name, localdir.Options{Log: log})
		if err != nil {
			return nil, err
		}
		if store.ReadOnly() {
			return nil, errors.Join(fmt.Errorf("open store %s: %w", l, backing.ErrReadOnly), store.Close())
		}
		return store, nil
	}
	store, err := postgres.Open(ctx, l.url, postgres.Options{Alone: true, Cache: uncached, Log: log})
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", l, err)
	}
	return store, nil
}

// between copies from one open store to the other, and has both checked.
func between(ctx context.Context, from, to Location, src, dst transfer.Store, o CopyOptions) (c Copied, err error) {
	part := partsOf(from, to)
	resumed, err := transfer.Begin(ctx, src, dst, from.Name, part)
	if err != nil {
		return c, fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	if resumed && o.Resumed != nil {
		o.Resumed()
	}
	left := map[string]bool{}
	leave := func(path, why string) {
		left[path] = true
		if o.LeftOut != nil {
			o.LeftOut(path, why)
		}
	}
	if err := leaveUndone(ctx, from, src, part, leave); err != nil {
		return c, err
	}
	c.Stats, err = transfer.Run(ctx, src, dst, transfer.Options{
		Part: part, Owners: to.Remote() || os.Geteuid() == 0, Delete: o.Delete, Progress: o.Progress,
		LeftOut: func(key backing.Key, why string) {
			if key != "results" { // they end with the daemon
				leave(string(key), why)
			}
		},
	})
	if err != nil {
		return c, fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	if err := agree(ctx, from, to, src, dst, &c, func(path string) bool { return left[path] || !inParts(part, path) }, o); err != nil {
		return c, err
	}
	return c, transfer.Finish(ctx, dst)
}

// partsOf says what a copy takes along: what every host has of a store, and
// from one directory to another also what a start goes on with.
func partsOf(from, to Location) func(backing.Key) bool {
	log := !from.Remote() && !to.Remote()
	return func(key backing.Key) bool {
		name, own := strings.CutPrefix(string(key), backing.Own+"/")
		switch {
		case own:
			return name == "vars" || name == "archives" || log && name == "log"
		case name == "vars", name == "memories", name == "invocations":
			return true
		}
		return codec.CheckDirName(name) == nil && !codec.IsEntry(name) && !codec.Reserved[name]
	}
}

// inParts reports whether path lies in something that part takes along.
func inParts(part func(backing.Key) bool, path string) bool {
	first, rest, _ := strings.Cut(path, "/")
	if first != backing.Own {
		return part(backing.Key(first))
	}
	second, _, _ := strings.Cut(rest, "/")
	return part(backing.Key(first).Join(second))
}
