package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
	"ctxfs/backing/postgres"
)

// wanted is how many entries the directory has that is listed.
const wanted = 2000

// page is how many members a walk asks for at once.
const page = 1000

// ofStore measures without a mount.
func ofStore(ctx context.Context, s settings) error {
	store, err := postgres.Open(ctx, s.url, postgres.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer store.Close()
	dirs, err := directories(ctx, s.url, 1)
	if err != nil {
		return err
	}
	dir := dirs[0]
	err = s.times("store: open, without a migration", func() error {
		other, err := postgres.Open(ctx, s.url, postgres.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		return other.Close()
	})
	if err != nil {
		return err
	}
	err = s.times(fmt.Sprintf("store: list a directory of %d", wanted), func() error {
		list, err := store.List(ctx, dir, "", wanted+1)
		if err == nil && len(list) != wanted {
			err = fmt.Errorf("%d members", len(list))
		}
		return err
	})
	if err != nil {
		return err
	}
	read := func() error {
		list, err := store.List(ctx, dir, "", wanted+1)
		if err == nil {
			err = contents(ctx, store, list)
		}
		return err
	}
	took, err := clock(read)
	if err != nil {
		return err
	}
	say(fmt.Sprintf("store: read a directory of %d, the first time", wanted), "%.1f ms", ms(took))
	if err := s.times(fmt.Sprintf("store: read a directory of %d, again", wanted), read); err != nil {
		return err
	}
	n := 0
	err = once("store: walk, names and metadata", func() error {
		n, err = walk("", func(dir backing.Key, after string) ([]backing.Meta, error) { return store.List(ctx, dir, after, page) })
		return err
	})
	if err != nil {
		return err
	}
	say("store: objects and directories seen by it", "%d", n)
	err = once("store: walk with all contents", func() error {
		_, err := walk("", func(dir backing.Key, after string) ([]backing.Meta, error) {
			list, err := store.List(ctx, dir, after, page)
			if err == nil {
				err = contents(ctx, store, list)
			}
			return list, err
		})
		return err
	})
	if err != nil {
		return err
	}
	return sizes(ctx, s.url)
}

// contents opens each of list, which fetches it.
func contents(ctx context.Context, store *postgres.Store, list []backing.Meta) error {
	for _, m := range list {
		if m.Dir {
			continue
		}
		c, err := store.Open(ctx, m.Key, m.Revision)
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walk counts what is below dir.
func walk(dir backing.Key, list func(backing.Key, string) ([]backing.Meta, error)) (n int, err error) {
	for after := ""; ; {
		metas, err := list(dir, after)
		if err != nil {
			return n, err
		}
		for _, m := range metas {
			n++
			after = m.Key.Name()
			if m.Dir {
				below, err := walk(m.Key, list)
				if n += below; err != nil {
					return n, err
				}
			}
		}
		if len(metas) < page {
			return n, nil
		}
	}
}

// directories finds n that have as many entries as are wanted, and nothing else.
func directories(ctx context.Context, url string, n int) (dirs []backing.Key, err error) {
	err = with(ctx, url, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "SELECT dir FROM ctxfs_objects GROUP BY dir HAVING count(*) = $1 AND NOT bool_or(is_dir) LIMIT $2", wanted, n)
		if err != nil {
			return err
		}
		dirs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (backing.Key, error) {
			var name []byte
			err := row.Scan(&name)
			return backing.Key(name), err
		})
		return err
	})
	if err == nil && len(dirs) < n {
		err = fmt.Errorf("%d directories of %d, not %d", len(dirs), wanted, n)
	}
	return dirs, err
}

// with runs f on a connection to the database.
func with(ctx context.Context, url string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(f(conn), conn.Close(ctx))
}

// sizes prints what the tables and their indexes take.
func sizes(ctx context.Context, url string) error {
	return with(ctx, url, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT relname, pg_relation_size(oid) FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace AND relname LIKE 'ctxfs%' AND relkind IN ('r', 'i') AND pg_relation_size(oid) > 1e6
			ORDER BY 2 DESC`)
		if err != nil {
			return err
		}
		var name string
		var size int64
		_, err = pgx.ForEachRow(rows, []any{&name, &size}, func() error {
			say("database: "+name, "%s", mb(size))
			return nil
		})
		return err
	})
}
