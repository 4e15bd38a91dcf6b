package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"ctxfs/backing/localdir"
	"ctxfs/entries"
	"ctxfs/index"
	"ctxfs/room"
)

// goalFollowed is what a save may cost while an index follows, of what it
// costs without one.
const goalFollowed = 1.25

// measureFollowed times creating entries in a room, durably, with an index
// that follows and without one, by turns. What the index has not done at the
// end of a turn is waited for before the next one.
func measureFollowed(ctx context.Context, w *work, s settings) (rows []row, err error) {
	times := map[string][]float64{}
	perTurn := max(1, s.saves/s.rounds)
	for round := range s.rounds {
		progress("saves with an index: round %d of %d", round+1, s.rounds)
		for _, who := range []string{"no index", "index"} {
			ms, err := savesFollowed(ctx, w.path("followed", fmt.Sprint(who, round)), perTurn, who == "index")
			if err != nil {
				return nil, err
			}
			times[who] = append(times[who], ms)
		}
	}
	const what = "create an entry of 4 KB in the library"
	return append(plain(what, "ms", times, "no index"), ratio(what, "ms", times, "index", "no index", goalFollowed)), nil
}

// savesFollowed returns the milliseconds that each of n saves into a new store
// takes.
func savesFollowed(ctx context.Context, dir string, n int, follow bool) (ms float64, err error) {
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e, err := entries.New(store, entries.Options{Log: log})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if _, err := e.MakeDir(ctx, room.Caller{}, saveAgent, 0o755); err != nil {
		return 0, err
	}
	if follow {
		x := index.Open(filepath.Join(dir, ".ctxfs", "index.sqlite"), e, index.Options{Log: log})
		defer func() { err = errors.Join(err, x.Close()) }()
		for x.Status(ctx).Building && ctx.Err() == nil {
		}
		defer func() {
			if s := x.Status(ctx); err == nil && (s.Error != "" || s.Entries != n) {
				err = fmt.Errorf("the index has %d of %d entries %s", s.Entries, n, s.Error)
			}
		}()
	}
	took, err := saveBatch(ctx, roomSaver(ctx, e), 0, n, 1)
	return took.Seconds() * 1000 / float64(n), err
}

func roomSaver(ctx context.Context, e *entries.Entries) saver {
	return func(name string, content []byte) error {
		f, _, err := e.Write(ctx, room.Caller{Agent: saveAgent}, saveAgent+"/"+name, room.Create{New: true, Mode: 0o644})
		if err != nil {
			return err
		}
		_, err = f.WriteAt(content, 0)
		if d, ok := f.(room.Draft); ok && err == nil {
			err = d.Commit(ctx)
		}
		return errors.Join(err, f.Close())
	}
}
