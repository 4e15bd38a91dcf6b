package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// Versions lists the kept versions of key, oldest first.
func (s *Store) Versions(ctx context.Context, key backing.Key) ([]backing.Version, error) {
	if err := s.begin(key); err != nil {
		return nil, told("list versions of", key, err)
	}
	defer s.end()
	var list []backing.Version
	err := s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		list = nil
		dir, name := at(key)
		rows, err := conn.Query(ctx, "SELECT n, "+columns+" FROM ctxfs_versions WHERE dir = $1 AND name = $2 ORDER BY n", dir, name)
		if err != nil {
			return err
		}
		var n int
		var a attributes
		_, err = pgx.ForEachRow(rows, append([]any{&n}, a.fields()...), func() error {
			list = append(list, a.version(n))
			return nil
		})
		return err
	})
	return list, told("list versions of", key, err)
}

// version describes version n, which a is of.
func (a *attributes) version(n int) backing.Version {
	return backing.Version{N: n, Size: a.size, ModTime: time.Unix(0, a.mtime), Mode: fs.FileMode(a.mode),
		UID: uint32(a.uid), GID: uint32(a.gid), Revision: revision(a.rev)}
}

// StatVersion describes version n of key.
func (s *Store) StatVersion(ctx context.Context, key backing.Key, n int) (v backing.Version, err error) {
	if err := s.begin(key); err != nil {
		return v, told("look at a version of", key, err)
	}
	defer s.end()
	err = s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		dir, name := at(key)
		rows, err := conn.Query(ctx, "SELECT "+columns+" FROM ctxfs_versions WHERE dir = $1 AND name = $2 AND n = $3", dir, name, n)
		if err != nil {
			return err
		}
		var a attributes
		err = one(rows, a.fields()...)
		v = a.version(n)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = backing.ErrNotFound
	}
	return v, told(fmt.Sprintf("look at version %d of", n), key, err)
}

// versionedPage is how many keys one round trip asks for.
const versionedPage = 512

// Versioned implements [backing.Versioned].
func (s *Store) Versioned(ctx context.Context, f func(backing.Key) error) error {
	if err := s.begin(""); err != nil {
		return told("list versions", "", err)
	}
	defer s.end()
	for after := backing.Key(""); ; {
		page, err := s.versioned(ctx, after)
		if err != nil {
			return told("list versions", "", err)
		}
		for _, key := range page {
			if err := f(key); err != nil {
				return err
			}
			after = key
		}
		if len(page) < versionedPage {
			return nil
		}
	}
}

// versioned lists the keys with versions that come after one, by the order of
// their directories.
func (s *Store) versioned(ctx context.Context, after backing.Key) (page []backing.Key, err error) {
	err = s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		page = nil
		dir, name := at(after)
		rows, err := conn.Query(ctx, `SELECT DISTINCT dir, name FROM ctxfs_versions WHERE (dir, name) > ($1, $2)
			ORDER BY dir, name LIMIT $3`, dir, name, versionedPage)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, []any{&dir, &name}, func() error {
			page = append(page, backing.Key(dir).Join(string(name)))
			return nil
		})
		return err
	})
	return page, err
}

// restoreSQL adds the version $3 where there is none of this number.
const restoreSQL = `
WITH held AS (
  SELECT body FROM ctxfs_loose WHERE body = $10 AND $13::boolean FOR UPDATE
), kept AS (
  INSERT INTO ctxfs_versions (dir, name, n, ` + columns + `, body)
  SELECT $1::bytea, $2::bytea, $3::integer, $4::bigint, $5::bigint, $6::integer, $7::bigint, $8::bigint, $9::uuid, $10::uuid
  WHERE NOT $13::boolean OR EXISTS (SELECT FROM held)
  ON CONFLICT DO NOTHING RETURNING 1
), chunks AS (
  INSERT INTO ctxfs_chunks (body, off, data)
  SELECT $10::uuid, o, d FROM kept, unnest($11::bigint[], $12::bytea[]) AS piece(o, d)
), published AS (
  DELETE FROM ctxfs_loose USING kept WHERE $13::boolean AND body = $10
)
INSERT INTO ctxfs_changes (write, dir, name) SELECT $9::uuid, $1::bytea, $2::bytea FROM kept RETURNING 1`

// RestoreVersion puts back version v.N of key.
func (s *Store) RestoreVersion(ctx context.Context, key backing.Key, v backing.Version, r io.Reader) error {
	return told(fmt.Sprintf("restore version %d of", v.N), key, s.restoreVersion(ctx, key, v, r))
}

func (s *Store) restoreVersion(ctx context.Context, key backing.Key, v backing.Version, r io.Reader) error {
	if err := s.beginWrite(key); err != nil {
		return err
	}
	defer s.end()
	if v.N < 1 {
		return backing.ErrNotFound
	}
	b, err := s.stage(ctx, r)
	if err != nil {
		return err
	}
	if v.ModTime.IsZero() {
		v.ModTime = time.Now()
	}
	if v.Mode.Perm() == 0 {
		v.Mode = newMode
	}
	dir, name := at(key)
	offs, pieces := cut(b.small)
	a := attributes{size: b.size, mtime: nanoseconds(v.ModTime), mode: int32(v.Mode.Perm()), uid: int64(v.UID), gid: int64(v.GID)}
	_, _, err = s.write(ctx, key, func(ctx context.Context, conn *pgxpool.Conn, id id) (*backing.Meta, error) {
		rows, err := conn.Query(ctx, restoreSQL, dir, name, v.N, a.size, a.mtime, a.mode, a.uid, a.gid, id, b.of(id), offs, pieces, b.isLarge())
		if err != nil {
			return nil, err
		}
		return nil, missed(one(rows, new(int)))
	})
	if errors.Is(err, errMissed) {
		return backing.ErrExists
	}
	return err
}
