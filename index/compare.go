package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"

	"ctxfs/codec"
	"ctxfs/room"
)

// page is how many names are asked for at once.
const page = 1000

// compare finds what differs between the index and the directory dir with all
// below it, and puts it into the backlog, the oldest first. It reads no
// entry. x.mu is held.
func (x *Index) compare(ctx context.Context, dir string) error {
	c := comparison{Index: x, seen: map[string]bool{}}
	err := c.walk(ctx, dir)
	if err == nil {
		err = c.gone(ctx, dir)
	}
	switch {
	case isDatabase(err):
		return err
	case err != nil && x.ctx.Err() != nil:
		return nil // the next start begins anew
	case err != nil:
		x.log.Warn("a directory could not be compared with the index", "dir", dir, "err", err)
		return nil
	}
	slices.SortFunc(c.differ, func(a, b string) int {
		return cmp.Or(strings.Compare(path.Base(a), path.Base(b)), strings.Compare(a, b))
	})
	for _, p := range c.differ {
		if !x.todo[p] {
			x.todo[p] = true
			x.backlog = append(x.backlog, p)
		}
	}
	if dir == "" {
		x.begun = true
	}
	x.busy()
	select {
	case x.wake <- struct{}{}:
	default:
	}
	return nil
}

// comparison goes through a directory and all below it, with what is known of
// one directory in memory at a time.
type comparison struct {
	*Index
	seen   map[string]bool // directories that are there
	differ []string        // paths
}

// walk finds what differs in dir and below it, where it is there.
func (c *comparison) walk(ctx context.Context, dir string) error {
	known, err := c.known(ctx, dir)
	if err != nil {
		return err
	}
	for after := ""; ; {
		infos, err := c.src.List(c.ctx, dir, after, page)
		if gone(err) {
			delete(c.seen, dir)
			return nil
		}
		if err != nil {
			return err
		}
		c.seen[dir] = true
		for _, info := range infos {
			p := strings.TrimPrefix(dir+"/"+info.Name, "/")
			switch {
			case info.Kind == room.Dir:
				if err := c.walk(ctx, p); err != nil {
					return err
				}
			case info.Kind == room.Object && info.Size > 0 && codec.IsEntry(info.Name):
				if known[info.Name] != string(info.Revision) {
					c.differ = append(c.differ, p)
				}
				delete(known, info.Name)
			}
		}
		if len(infos) < page {
			break
		}
		after = infos[len(infos)-1].Name
	}
	c.missing(dir, known)
	return nil
}

// missing adds members of dir that the index knows and that are there no more.
func (c *comparison) missing(dir string, known map[string]string) {
	for name := range known {
		c.differ = append(c.differ, strings.TrimPrefix(dir+"/"+name, "/"))
	}
}

// gone finds what the index knows in directories that are not there any more.
func (c *comparison) gone(ctx context.Context, dir string) error {
	query, args := "SELECT DISTINCT dir FROM entry", []any(nil)
	if dir != "" {
		query += " WHERE dir = ? OR dir > ? AND dir < ?"
		args = []any{dir, dir + "/", dir + "0"}
	}
	dirs, err := column[string](ctx, c.w, query, args...)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if c.seen[d] {
			continue
		}
		known, err := c.known(ctx, d)
		if err != nil {
			return err
		}
		c.missing(d, known)
	}
	return nil
}

// known returns the revisions that the index has of the members of dir, by
// their names.
func (x *Index) known(ctx context.Context, dir string) (map[string]string, error) {
	rows, err := x.w.QueryContext(ctx, "SELECT name, revision FROM entry WHERE dir = ?", dir)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]string{}
	for rows.Next() {
		var name, revision string
		if err := rows.Scan(&name, &revision); err != nil {
			return nil, err
		}
		known[name] = revision
	}
	return known, rows.Err()
}

// isDatabase reports whether err comes from the file of the index.
func isDatabase(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) || errors.Is(err, errDamaged) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, sql.ErrConnDone)
}

// Status says how far the index has come.
type Status struct {
	Path     string `json:"path"`
	Entries  int    `json:"entries"`         // in the index
	Todo     int    `json:"todo"`            // entries that are not, yet
	Building bool   `json:"building"`        // Todo is not done, or not known yet
	Error    string `json:"error,omitempty"` // why it cannot be written
}

// Status waits until what changed before has been dealt with, for at most
// [Patience], and says how far the index has come.
func (x *Index) Status(ctx context.Context) Status {
	x.settle(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.present(context.WithoutCancel(x.ctx)); err != nil {
		x.again(err)
	}
	s := Status{Path: x.path, Todo: len(x.backlog), Building: len(x.backlog) > 0 || !x.begun}
	err := x.err
	if err == nil && x.w != nil {
		err = x.w.conn.QueryRowContext(ctx, "SELECT count(*) FROM entry").Scan(&s.Entries)
	}
	if IsDamaged(damaged(err)) {
		x.again(damaged(err))
		return Status{Path: x.path, Building: true}
	}
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// settle waits until what was committed before has been dealt with, and while
// the index has only just begun to catch up with the rest: for at most
// [Patience] each. Who asks is answered all the same, from what there is.
func (x *Index) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if err := x.src.Told(ctx); err != nil {
		x.log.Warn("an answer from the index may lag", "err", err)
	}
	x.mu.Lock()
	idle, left := x.idle, Patience-time.Since(x.since)
	x.mu.Unlock()
	if idle == nil || left <= 0 {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	case <-time.After(left):
	}
}
