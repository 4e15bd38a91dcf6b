package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/entries"
	"ctxfs/invocations"
	"ctxfs/memories"
	"ctxfs/results"
	"ctxfs/room"
	"ctxfs/variables"
)

// CheckOptions say how a store is checked. The zero value works.
type CheckOptions struct {
	// Fix opens the store for writing, so that the problems found have a
	// Mend that can be called; *localdir.LockedError where another process
	// writes a directory. Of a database only what hosts may mend beside each
	// other is found.
	Fix bool
	// Mounted says that a daemon serves the store.
	Mounted bool
	// Memories is $CONTEXT_DATA_DIR, "" where the memories lie in the store.
	Memories string
	// Also checks what this package does not know, in the directory of this
	// host that the store has, see [Open], while it is open; may be nil.
	Also func(ctx context.Context, dir string, report func(room.Problem)) error
	// Looking is told of each file before it is read; nil is nobody.
	Looking func(backing.Key)
	Log     *slog.Logger // nil discards
}

// Check reads everything in the store at l and reports what is wrong with
// it, in constant memory. Without Fix it changes nothing and may run beside a
// daemon. With Fix nobody else may write a directory; in a database what is
// mended is mended as a save of one host among others, and what a crash may
// have left of one host is not looked at. The error is the store's or ctx's;
// problems are none.
func Check(ctx context.Context, l Location, o CheckOptions, report func(room.Problem)) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	quiet := o.Mounted || l.Remote() // where it may be what another process is doing
	if !o.Fix && !quiet {
		live, err := localdir.Written(l.Name)
		if err != nil {
			return err
		}
		quiet = live
	}
	if quiet {
		report = withoutLeftovers(report)
	}
	store, dir, err := openChecked(ctx, l, o, report)
	if err != nil {
		return err
	}
	err = checkRooms(ctx, store, dir, o, report)
	return errors.Join(err, store.Close())
}

func withoutLeftovers(report func(room.Problem)) func(room.Problem) {
	return func(p room.Problem) {
		if !p.Leftover {
			report(p)
		}
	}
}

// withFiles is a store with ordinary files.
type withFiles interface {
	backing.Store
	backing.Files
	backing.Versioned
}

// watched is a store that tells which file is read.
type watched struct {
	withFiles
	looking func(backing.Key)
}

func (w watched) Open(ctx context.Context, key backing.Key, rev backing.Revision) (backing.Content, error) {
	if w.looking != nil {
		w.looking(key)
	}
	return w.withFiles.Open(ctx, key, rev)
}

func (w watched) OpenVersion(ctx context.Context, key backing.Key, n int) (backing.Content, error) {
	if w.looking != nil {
		w.looking(key)
	}
	return w.withFiles.OpenVersion(ctx, key, n)
}

// openChecked opens the store at l; dir is as [Open] has it.
func openChecked(ctx context.Context, l Location, o CheckOptions, report func(room.Problem)) (store watched, dir string, err error) {
	if !l.Remote() {
		store, err = openDirectory(ctx, l.Name, o, report)
		return store, l.Name, err
	}
	both, dir, err := Open(ctx, l, o.Log)
	if err != nil {
		return watched{}, "", err
	}
	files, ok := both.(withFiles)
	if !ok {
		return watched{}, "", errors.Join(fmt.Errorf("check %s: %T has no files", l, both), both.Close())
	}
	return watched{files, o.Looking}, dir, nil
}

// openDirectory opens the store in dir, and says what lies in its staging,
// which is emptied by opening it for writing.
func openDirectory(ctx context.Context, dir string, o CheckOptions, report func(room.Problem)) (watched, error) {
	store, err := localdir.Open(dir, localdir.Options{ReadOnly: true, Log: o.Log})
	if err != nil {
		return watched{}, err
	}
	if err := finished(ctx, Directory(dir), store, store); err != nil {
		return watched{}, err
	}
	files, size, err := store.Staged(ctx)
	if err == nil && o.Fix {
		if err = store.Close(); err == nil {
			store, err = localdir.Open(dir, localdir.Options{Log: o.Log})
		}
	}
	if err != nil {
		return watched{}, err
	}
	if files > 0 {
		report(room.Problem{Path: backing.Own + "/staging", Warning: true, Leftover: true,
			Reason: fmt.Sprintf("%d files (%d bytes) are left of writes that were interrupted", files, size),
			Fix:    "the next start removes them; none was acknowledged as written",
			Mend:   func(context.Context) (string, error) { return "removed them", nil }}) // by Open
	}
	return watched{store, o.Looking}, nil
}

func checkRooms(ctx context.Context, store watched, dir string, o CheckOptions, report func(room.Problem)) error {
	checks := []func() error{
		func() error { return entries.CheckStore(ctx, store, entries.Options{Log: o.Log}, report) },
		func() error { return checkKept(ctx, store, report) },
		func() error { return variables.CheckStore(ctx, store, report) },
		func() error { return results.CheckStore(ctx, store, report) },
		func() error { return checkMemories(ctx, store, o, report) },
		func() error { return invocations.CheckStore(ctx, store, report) },
	}
	if o.Also != nil {
		checks = append(checks, func() error { return o.Also(ctx, dir, report) })
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return fmt.Errorf("check the store: %w", err)
		}
	}
	return nil
}

// checkKept reports the versions of entries that are gone.
func checkKept(ctx context.Context, store watched, report func(room.Problem)) error {
	return store.Versioned(ctx, func(key backing.Key) error {
		_, err := store.Stat(ctx, key)
		if err == nil || !missing(err) && !errors.Is(err, backing.ErrNotDir) {
			return err
		}
		kept := path.Join(backing.Own, "versions", string(key))
		report(room.Problem{Path: string(key), Field: "versions", Warning: true, Reason: "it is gone, and versions of it are kept",
			Fix: "copy the last one in " + kept + " back to its place; or remove them, if it was removed on purpose"})
		return nil
	})
}

func checkMemories(ctx context.Context, store watched, o CheckOptions, report func(room.Problem)) error {
	if o.Memories == "" {
		return memories.CheckStore(ctx, store, false, report)
	}
	if live, err := localdir.Written(o.Memories); err != nil {
		return err
	} else if live && !o.Fix {
		report = withoutLeftovers(report)
	}
	own, err := localdir.Open(o.Memories, localdir.Options{ReadOnly: !o.Fix, Log: o.Log})
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(memories.CheckStore(ctx, watched{own, o.Looking}, true, report), own.Close())
}
