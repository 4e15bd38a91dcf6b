package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"ctxfs/backing"
	"ctxfs/backing/joined"
	"ctxfs/backing/localdir"
	"ctxfs/backing/postgres"
	"ctxfs/transfer"
)

// Open opens the store at l, and makes it where it is missing. dir is a
// directory of this host that nobody else uses while it is open, for what is
// derived from the store: that of the store itself, or the one that a database
// has here. *localdir.LockedError where another process writes a directory; a
// database may be open any number of times. An unfinished copy is not opened:
// *transfer.UnfinishedError.
func Open(ctx context.Context, l Location, log *slog.Logger) (store backing.Store, dir string, err error) {
	if !l.Remote() {
		store, err := localdir.Open(l.Name, localdir.Options{Log: log})
		if err != nil {
			return nil, "", err
		}
		if err := finished(ctx, l, store, store); err != nil {
			return nil, "", err
		}
		return store, l.Name, nil
	}
	local, dir, err := openLocal(l, log)
	if err != nil {
		return nil, "", err
	}
	shared, err := postgres.Open(ctx, l.url, postgres.Options{Log: log, TempDir: l.home()})
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("open store %s: %w", l, err), local.Close())
	}
	both := joined.New(shared, local, sideOf)
	if err := finished(ctx, l, shared, both); err != nil {
		return nil, "", err
	}
	return both, dir, nil
}

// finished refuses store, which it then closes, where it is an unfinished
// copy; marked is the part of it that would say so.
func finished(ctx context.Context, l Location, marked, store backing.Store) error {
	mark, err := transfer.ReadMark(ctx, marked)
	if mark != nil {
		err = &transfer.UnfinishedError{Store: l.Name, Mark: *mark}
	}
	if err != nil {
		return errors.Join(err, store.Close())
	}
	return nil
}

// OpenReading opens the store at l to read it, beside whoever writes it.
func OpenReading(ctx context.Context, l Location, log *slog.Logger) (backing.Store, error) {
	if l.Remote() {
		store, _, err := Open(ctx, l, log)
		return store, err
	}
	store, err := localdir.Open(l.Name, localdir.Options{ReadOnly: true, Log: log})
	if err != nil {
		return nil, err
	}
	if err := finished(ctx, l, store, store); err != nil {
		return nil, err
	}
	return store, nil
}

// maxLocal is how many processes of one user may have a database open at once.
const maxLocal = 256

// openLocal opens the first directory of this host for the database at l that
// no other process has: the next run finds what this one leaves, as it takes
// the first free one too.
func openLocal(l Location, log *slog.Logger) (*localdir.Store, string, error) {
	if l.local == "" {
		return nil, "", fmt.Errorf("open store %s: a database needs a directory of this host besides: set $XDG_STATE_HOME or $HOME", l)
	}
	home := l.home()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, "", fmt.Errorf("make the directory of this host for the store %s: %w", l, err)
	}
	// Whose it is, for people.
	if err := os.WriteFile(filepath.Join(home, "store"), []byte(l.Name+"\n"), 0o600); err != nil {
		return nil, "", fmt.Errorf("make the directory of this host for the store %s: %w", l, err)
	}
	for n := range maxLocal {
		dir := filepath.Join(home, strconv.Itoa(n))
		store, err := localdir.Open(dir, localdir.Options{Log: log})
		if locked := (*localdir.LockedError)(nil); errors.As(err, &locked) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("open the directory of this host for the store %s: %w", l, err)
		}
		return store, dir, nil
	}
	return nil, "", fmt.Errorf("%d processes have the store %s open on this host; that is too many", maxLocal, l)
}
