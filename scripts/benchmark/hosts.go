package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ctxfs/backing/postgres"
)

// Goals of what one host sees of another, in milliseconds after the close that
// committed it.
const (
	goalSeen     = 100
	goalSeenLate = 500 // the 99th percentile
)

// bareSQL makes an object where there is none, with its bytes, a version and its
// change.
const bareSQL = `
WITH made AS (
  INSERT INTO ctxfs_objects (dir, name, is_dir, size, mtime, mode, uid, gid, rev, op, body)
  VALUES ('', $1, false, $2, 0, 420, 0, 0, $3, '', $3) ON CONFLICT DO NOTHING RETURNING 1
), chunk AS (
  INSERT INTO ctxfs_chunks (body, off, data) SELECT $3, 0, $4 FROM made
), version AS (
  INSERT INTO ctxfs_versions (dir, name, n, size, mtime, mode, uid, gid, rev, body)
  SELECT '', $1, 1, $2, 0, 420, 0, 0, $3, $3 FROM made
)
INSERT INTO ctxfs_changes (write, dir, name) SELECT $3, '', $1 FROM made`

// measureCreate times creating entries through a mount, beside the bare
// statement on one connection.
func (d *database) measureCreate(ctx context.Context, s settings) (rows []row, err error) {
	bare, err := d.tables(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, bare)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	url, err := d.c.Schema(ctx)
	if err != nil {
		return nil, err
	}
	point, stop, err := d.mount(ctx, "creates", url)
	if err != nil {
		return nil, err
	}
	defer func() { reportStop(stop()) }()
	agent := filepath.Join(point, saveAgent)
	if err := within(ctx, shortLimit, "make an agent", func() error { return os.Mkdir(agent, 0o755) }); err != nil {
		return nil, err
	}
	progress("create %d entries in a database", s.saves)
	below, err := d.tables(ctx)
	if err != nil {
		return nil, err
	}
	floor, end, err := d.w.floorSaver(ctx, d.w.path("floor"), d.w.path("mnt", "floor"), "-database", below)
	if err != nil {
		return nil, err
	}
	defer func() { reportStop(end()) }()
	savers := map[string]saver{"statement": bareSaver(ctx, conn), "floor": floor, "mount": mountSaver(agent)}
	times, err := alternate(ctx, savers, s.saves, 1)
	if err != nil {
		return nil, err
	}
	if err := saved(agent, s.saves, 1, false); err != nil {
		return nil, err
	}
	const what = "create an entry of 4 KB in a database"
	return append(plain(what, "ms", times, "statement"), beside(what, "ms", times, "floor", "statement"),
		ratio(what, "ms", times, "mount", "statement", goalCreateDatabase)), nil
}

// tables returns the URL of an empty store.
func (d *database) tables(ctx context.Context) (url string, err error) {
	if url, err = d.c.Schema(ctx); err != nil {
		return "", err
	}
	store, err := postgres.Open(ctx, url, postgres.Options{})
	if err == nil {
		err = store.Close()
	}
	return url, err
}

func bareSaver(ctx context.Context, conn *pgx.Conn) saver {
	return func(name string, content []byte) error {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		tag, err := conn.Exec(ctx, bareSQL, []byte(name), int64(len(content)), [16]byte(id), content)
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("%s was there", name)
		}
		return err
	}
}

// measureCoherence times how long after a close on one host another one sees
// the new content of a file that it has read, the new name in a directory that
// it has listed, and what stands under a name that was not there.
func (d *database) measureCoherence(ctx context.Context, s settings) ([]row, error) {
	url, err := d.c.Schema(ctx)
	if err != nil {
		return nil, err
	}
	here, stop, err := d.mount(ctx, "here", url)
	if err != nil {
		return nil, err
	}
	defer func() { reportStop(stop()) }()
	there, stopThere, err := d.mount(ctx, "there", url)
	if err != nil {
		return nil, err
	}
	defer func() { reportStop(stopThere()) }()
	n := max(10, s.saves/5)
	progress("%d commits on one host, seen on another one", n)
	times := map[string][]float64{}
	err = within(ctx, sizeLimit(100*n), "see what another host does", func() error {
		h := hosts{filepath.Join(here, saveAgent), filepath.Join(there, saveAgent)}
		if err := os.Mkdir(h.writes, 0o755); err != nil {
			return err
		}
		if _, err := until(func() (bool, error) { return exists(h.looks) }); err != nil {
			return err
		}
		for i := range n {
			for _, kind := range []struct {
				name string
				see  func(i int) (float64, error)
			}{{"a file read before", h.overwritten}, {"a directory listed before", h.listed}, {"a name absent before", h.appeared}} {
				ms, err := kind.see(i)
				if err != nil {
					return fmt.Errorf("%s: %w", kind.name, err)
				}
				times[kind.name] = append(times[kind.name], ms)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, who := range []string{"a file read before", "a directory listed before", "a name absent before"} {
		rows = append(rows, limit("a commit of another host is seen", "ms", times, who, goalSeen))
		late := map[string][]float64{who: {percentile(times[who], 0.99)}}
		rows = append(rows, limit("a commit of another host is seen, p99", "ms", late, who, goalSeenLate))
	}
	return rows, nil
}

// hosts are the directory of one agent on two of them.
type hosts struct{ writes, looks string }

func (h hosts) save(name string, text []byte) error {
	return os.WriteFile(filepath.Join(h.writes, name), text, 0o644)
}

// overwritten overwrites one entry, which the other host has read.
func (h hosts) overwritten(i int) (float64, error) {
	name, text := saveEntry(0, 1)
	mark := fmt.Sprintf("\nThis is the text of round %d.\n", i)
	if err := h.save(name, append(text, mark...)); err != nil {
		return 0, err
	}
	return until(func() (bool, error) {
		got, err := os.ReadFile(filepath.Join(h.looks, name))
		if errors.Is(err, os.ErrNotExist) {
			err = nil // the first time
		}
		return strings.Contains(string(got), mark), err
	})
}

// listed makes an entry in a directory that the other host has listed.
func (h hosts) listed(i int) (float64, error) {
	if _, err := os.ReadDir(h.looks); err != nil {
		return 0, err
	}
	name, text := saveEntry(2*i+1, 1)
	if err := h.save(name, text); err != nil {
		return 0, err
	}
	return until(func() (bool, error) {
		names, err := os.ReadDir(h.looks)
		return slices.ContainsFunc(names, func(e os.DirEntry) bool { return e.Name() == name }), err
	})
}

// appeared makes an entry that the other host has looked for.
func (h hosts) appeared(i int) (float64, error) {
	name, text := saveEntry(2*i+2, 1)
	path := filepath.Join(h.looks, name)
	if there, err := exists(path); there || err != nil {
		return 0, fmt.Errorf("%s is there already, %w", path, err)
	}
	if err := h.save(name, text); err != nil {
		return 0, err
	}
	return until(func() (bool, error) { return exists(path) })
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// lookEvery is the time between two looks at what another host has done.
const lookEvery = time.Millisecond

// until calls seen until it says yes, and returns the milliseconds until then.
func until(seen func() (bool, error)) (float64, error) {
	for since := time.Now(); ; time.Sleep(lookEvery) {
		yes, err := seen()
		took := time.Since(since)
		if yes || err != nil {
			return took.Seconds() * 1000, err
		}
		if took > shortLimit {
			return 0, fmt.Errorf("not seen after %v", took)
		}
	}
}

// percentile returns the smallest value that the share p of all does not
// exceed.
func percentile(values []float64, p float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return v[min(len(v)-1, int(p*float64(len(v))))]
}
