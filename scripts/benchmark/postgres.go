package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/backing/postgres"
	"ctxfs/backing/postgres/pgtest"
)

// Goals of a store in a database on this machine, with a server of its own:
// seconds, ratios to the same on a directory, and to the bare statement.
const (
	goalFirstDatabase  = 3
	goalWarmDatabase   = 1.2
	goalCreateDatabase = 1.5
)

// database is a private server whose commits wait for the disk.
type database struct {
	w *work
	c *pgtest.Cluster
}

// measurePostgres times a store in a database beside one in a directory.
func measurePostgres(ctx context.Context, w *work, s settings) (rows []row, err error) {
	c, err := pgtest.Start(pgtest.Options{Durable: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	d := &database{w, c}
	for _, measure := range []func(context.Context, settings) ([]row, error){d.measureCreate, d.measureCoherence, d.measureWalks} {
		more, err := measure(ctx, s)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// mount mounts the store at url as a host of that name does, which keeps its
// own state.
func (d *database) mount(ctx context.Context, host, url string) (point string, stop func() error, err error) {
	point = d.w.path("mnt", host)
	srv, err := d.w.serve(ctx, point, "env", "XDG_STATE_HOME="+d.w.path("state", host),
		d.w.program("ctxfs"), "mount", "--foreground", "--store", url, point)
	if err != nil {
		return "", nil, err
	}
	return point, srv.stop, nil
}

// fillers is how many entries are on their way into the database at once.
const fillers = 8

// fill puts the entries of a store in a directory into the one at url.
func (d *database) fill(ctx context.Context, url, from string) (err error) {
	store, err := postgres.Open(ctx, url, postgres.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	paths := make(chan string)
	errs := make([]error, fillers)
	var all sync.WaitGroup
	for n := range fillers {
		all.Go(func() {
			for path := range paths {
				if errs[n] == nil {
					errs[n] = put(ctx, store, from, path)
				}
			}
		})
	}
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		if e.Name() == backing.Own {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(from, path)
		if err == nil && e.IsDir() {
			_, err = store.MakeDir(ctx, backing.Key(rel), 0o755)
		} else if err == nil {
			paths <- rel
		}
		return err
	})
	close(paths)
	all.Wait()
	return errors.Join(append(errs, err)...)
}

func put(ctx context.Context, store backing.Store, from, path string) error {
	f, err := os.Open(filepath.Join(from, path))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = store.Put(ctx, backing.Key(path), f, backing.PutOptions{If: backing.Absent})
	return err
}

// measureWalks times the first and the warm rg on a database, on a directory by
// turns.
func (d *database) measureWalks(ctx context.Context, s settings) ([]row, error) {
	dir, err := d.w.walkStore(ctx, s.entries)
	if err != nil {
		return nil, err
	}
	url, err := d.c.Schema(ctx)
	if err != nil {
		return nil, err
	}
	progress("filling a database with %d entries", s.entries)
	if err := d.fill(ctx, url, dir); err != nil {
		return nil, err
	}
	first, warm, dropped := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	// The first mounts of all make an index.
	for round := range s.rounds + 1 {
		progress("rg on a database and on a directory: round %d of %d", round, s.rounds)
		for _, who := range []struct{ name, store string }{{"directory", dir}, {"database", url}} {
			times, err := d.walk(ctx, who.name, who.store, s.entries, round == 0)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", who.name, err)
			}
			if round > 0 {
				first[who.name] = append(first[who.name], times[0])
				warm[who.name] = append(warm[who.name], times[1])
				dropped[who.name] = append(dropped[who.name], times[2])
			}
		}
	}
	rg := fmt.Sprintf(" rg over %d entries", s.entries)
	return []row{
		plain("first"+rg, "s", first, "directory")[0],
		limit("first"+rg, "s", first, "database", goalFirstDatabase),
		plain("warm"+rg, "s", warm, "directory")[0],
		ratio("warm"+rg, "s", warm, "database", "directory", goalWarmDatabase),
		plain("without the kernel's pages,"+rg, "s", dropped, "directory")[0],
		ratio("without the kernel's pages,"+rg, "s", dropped, "database", "directory", goalWarmDatabase),
	}, nil
}

// walk mounts a store and times three rg in seconds: the first one, one with
// everything in the kernel's cache, and one after the kernel has let go of the
// contents. indexes says that there is no index yet, which is waited for.
func (d *database) walk(ctx context.Context, name, store string, entries int, indexes bool) (times [3]float64, err error) {
	point, stop, err := d.mount(ctx, name, store)
	if err != nil {
		return times, err
	}
	defer func() { reportStop(stop()) }()
	if indexes {
		if err := indexed(ctx, point, entries); err != nil {
			return times, err
		}
	}
	for i := range times {
		if i == 2 {
			if err := within(ctx, sizeLimit(entries), "drop pages", func() error { return dropPages(point) }); err != nil {
				return times, err
			}
		}
		took, err := grep(ctx, point, entries)
		if err != nil {
			return times, err
		}
		times[i] = took.Seconds()
	}
	return times, seen(ctx, name, point, entries)
}

// indexed waits until the index of a mount has all entries.
func indexed(ctx context.Context, point string, entries int) error {
	return within(ctx, sizeLimit(entries), "wait for the index", func() error {
		for ; ; time.Sleep(100 * time.Millisecond) {
			var status struct {
				Building bool `json:"building"`
			}
			text, err := os.ReadFile(filepath.Join(point, ".ctxfs", "index"))
			if err == nil {
				err = json.Unmarshal(text, &status)
			}
			if err != nil || !status.Building {
				return err
			}
		}
	})
}

// dropPages makes the kernel forget the contents of all files below dir.
func dropPages(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}
