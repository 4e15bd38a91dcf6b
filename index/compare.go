package index

import (
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
	known, err := x.known(ctx, dir)
	if err != nil {
		return err
	}
	var differ []string
	if err := x.walk(dir, known, &differ); err != nil {
		if x.ctx.Err() != nil {
			return nil // the next start begins anew
		}
		x.log.Warn("a directory could not be compared with the index", "dir", dir, "err", err)
		return nil
	}
	for p := range known {
		differ = append(differ, p) // it is there no more
	}
	slices.SortFunc(differ, func(a, b string) int {
		return strings.Compare(path.Base(a)+"/"+a, path.Base(b)+"/"+b)
	})
	for _, p := range differ {
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

// known returns the revisions that the index has of dir and all below it.
func (x *Index) known(ctx context.Context, dir string) (map[string]string, error) {
	query, args := "SELECT dir, name, revision FROM entry", []any(nil)
	if dir != "" {
		query += " WHERE dir = ? OR dir > ? AND dir < ?"
		args = []any{dir, dir + "/", dir + "0"}
	}
	rows, err := x.w.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]string{}
	for rows.Next() {
		var dir, name, revision string
		if err := rows.Scan(&dir, &name, &revision); err != nil {
			return nil, err
		}
		known[dir+"/"+name] = revision
	}
	return known, rows.Err()
}

// walk adds what differs from known in dir to differ, and takes what it saw
// out of known.
func (x *Index) walk(dir string, known map[string]string, differ *[]string) error {
	for after := ""; ; {
		infos, err := x.src.List(x.ctx, dir, after, page)
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, info := range infos {
			p := strings.TrimPrefix(dir+"/"+info.Name, "/")
			switch {
			case info.Kind == room.Dir:
				if err := x.walk(p, known, differ); err != nil {
					return err
				}
			case info.Kind == room.Object && info.Size > 0 && codec.IsEntry(info.Name):
				if known[p] != string(info.Revision) {
					*differ = append(*differ, p)
				}
				delete(known, p)
			}
		}
		if len(infos) < page {
			return nil
		}
		after = infos[len(infos)-1].Name
	}
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
