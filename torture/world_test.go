package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/entries"
	"ctxfs/invocations"
	"ctxfs/memories"
	"ctxfs/results"
	"ctxfs/room"
	"ctxfs/variables"
)

var (
	ctx   = context.Background()
	alice = room.Caller{Agent: "alice", Session: "s1"}
	clock = time.Date(2026, 2, 22, 10, 0, 0, 0, time.UTC)
)

// world is every room on one store in a directory, as the daemon has them.
type world struct {
	store   *localdir.Store
	journal *room.Journal
	entries *entries.Entries
	vars    *variables.Variables
	history *invocations.History
	mems    *memories.Memories
	results *results.Results

	acked func() error // called after each acknowledgement; may be nil
}

// backendName is in the names of operations that need a backend. Nothing is
// ever delivered to it, so that the outbox keeps everything. A process with
// backendEnv has one at that URL, which answers.
const (
	backendName = "for a backend"
	backendEnv  = "CTXFS_TORTURE_BACKEND"
)

// backendOf is the URL of the backend that an operation has, or "".
func backendOf(name string) string {
	if strings.Contains(name, backendName) {
		return "http://127.0.0.1:0/" // which nobody can reach
	}
	return os.Getenv(backendEnv)
}

// openWorld opens them, with a clock that stands still and ids that the
// operation of the name brings: two runs of it write the same bytes.
func openWorld(dir, name string) (*world, error) { return openWorldFor(dir, name, backendOf(name)) }

// openWorldFor is openWorld with the backend at that URL, or none.
func openWorldFor(dir, name, backend string) (w *world, err error) {
	log := slog.New(slog.DiscardHandler)
	if os.Getenv(logEnv) != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	w = &world{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open %s: %w", dir, err), w.close())
		}
	}()
	if w.store, err = localdir.Open(dir, localdir.Options{Log: log}); err != nil {
		return w, err
	}
	return w, w.openRooms(w.store, name, backend, log)
}

// openRooms opens the rooms on store, which is w's or a wrapper of it.
func (w *world) openRooms(store backing.Store, name, backend string, log *slog.Logger) (err error) {
	now := func() time.Time { return clock }
	w.journal = room.NewJournal(store)
	if w.entries, err = entries.New(store, entries.Options{Now: now, Log: log, Journal: w.journal}); err != nil {
		return err
	}
	if w.vars, err = variables.New(store, variables.Options{Now: now, Log: log, Journal: w.journal}); err != nil {
		return err
	}
	if w.history, err = invocations.Open(ctx, store, invocations.Options{Now: now, Log: log, Journal: w.journal,
		NewID: func() uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }}); err != nil {
		return err
	}
	if w.results, err = results.Open(ctx, store, results.Options{Now: now, Log: log, Journal: w.journal}); err != nil {
		return err
	}
	w.mems, err = memories.Open(store, memories.Options{Now: now, Log: log, Journal: w.journal,
		Backend: backend, BackendTimeout: backendTimeout, BackendRetry: memories.Backoff{First: time.Millisecond, Max: 10 * time.Millisecond},
		Queue: memories.ExecutorOptions{Attempts: 1, EnqueueTimeout: time.Minute},
		NewID: func() string { return "id-" + name }})
	return err
}

func (w *world) close() error {
	var errs []error
	if w.mems != nil {
		errs = append(errs, w.mems.Close())
	}
	if w.results != nil {
		errs = append(errs, w.results.Close())
	}
	if w.history != nil {
		errs = append(errs, w.history.Close())
	}
	if w.vars != nil {
		errs = append(errs, w.vars.Close())
	}
	if w.entries != nil {
		errs = append(errs, w.entries.Close())
	}
	if w.store != nil {
		errs = append(errs, w.store.Close())
	}
	return errors.Join(errs...)
}

// save is `cat > path`, with what close returned.
func (w *world) save(path, content string) error {
	f, _, err := w.entries.Write(ctx, alice, path, room.Create{New: true, Mode: 0o644})
	if err != nil {
		return err
	}
	d := f.(room.Draft)
	if err = d.Truncate(0); err == nil {
		_, err = d.WriteAt([]byte(content), 0)
	}
	if err == nil {
		err = d.Commit(ctx)
	}
	if err != nil {
		d.Refuse(ctx, err)
	}
	return errors.Join(err, d.Close())
}

// plain writes an ordinary file.
func (w *world) plain(path, content string) error {
	f, _, err := w.entries.Write(ctx, alice, path, room.Create{New: true, Mode: 0o644, Flags: os.O_RDWR | os.O_TRUNC})
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(content), 0)
	return errors.Join(err, f.Sync(), f.Close())
}

// mkdir makes an agent's or session's directory, or finds it.
func (w *world) mkdir(path string) error {
	_, err := w.entries.MakeDir(ctx, alice, path, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// step makes do one that is acknowledged on its own.
func step(do func(w *world) error) func(*world) error {
	return func(w *world) error {
		if err := do(w); err != nil || w.acked == nil {
			return err
		}
		return w.acked()
	}
}
