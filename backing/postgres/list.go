package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// Stat describes the object or directory at key.
func (s *Store) Stat(ctx context.Context, key backing.Key) (backing.Meta, error) {
	if err := s.begin(key); err != nil {
		return backing.Meta{}, told("stat", key, err)
	}
	defer s.end()
	o, err := s.look(ctx, key)
	if err != nil {
		return backing.Meta{}, told("stat", key, err)
	}
	return o.meta(key), nil
}

// List returns a page of the directory dir, with metadata, in one round trip.
func (s *Store) List(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	if err := s.begin(dir); err != nil {
		return nil, told("list", dir, err)
	}
	defer s.end()
	page, err := s.list(ctx, dir, after, limit)
	return page, told("list", dir, err)
}

// Prefetch is List with the contents of at most maxSize bytes, in one round
// trip; smallMax is the greatest maxSize there is.
func (s *Store) Prefetch(ctx context.Context, dir backing.Key, after string, limit int, maxSize int64) ([]backing.Prefetched, error) {
	if err := s.begin(dir); err != nil {
		return nil, told("list with contents", dir, err)
	}
	defer s.end()
	var page []backing.Prefetched
	err := s.page(ctx, dir, after, limit, min(maxSize, smallMax), func(m backing.Meta, body []byte) {
		if m.Size != int64(len(body)) { // left out
			body = nil
		}
		page = append(page, backing.Prefetched{Meta: m, Body: body})
	}, func() { page = nil })
	return page, told("list with contents", dir, err)
}

// listSQL lists, with the contents of at most $4 bytes. The top is a member of
// itself, by the empty name; Own is not shown.
const listSQL = `
WITH page AS (
  SELECT name, is_dir, ` + columns + `, body FROM ctxfs_objects
  WHERE dir = $1 AND name > $2 AND NOT (dir = '' AND name IN ('', '` + backing.Own + `'))
  ORDER BY name LIMIT $3
)
SELECT name, is_dir, ` + columns + `, CASE WHEN NOT is_dir AND size <= $4 THEN coalesce(
  (SELECT string_agg(data, ''::bytea ORDER BY off) FROM ctxfs_chunks WHERE body = page.body), ''::bytea) END
FROM page ORDER BY name`

func (s *Store) list(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	var page []backing.Meta
	err := s.page(ctx, dir, after, limit, -1, func(m backing.Meta, _ []byte) { page = append(page, m) }, func() { page = nil })
	return page, err
}

// page calls add for each member, and again first where it begins anew.
func (s *Store) page(ctx context.Context, dir backing.Key, after string, limit int, maxSize int64, add func(backing.Meta, []byte), again func()) error {
	if limit <= 0 {
		return nil
	}
	return s.inDir(ctx, dir, func(b *pgx.Batch) { b.Queue(listSQL, []byte(dir), []byte(after), limit, maxSize) },
		func(r pgx.BatchResults) error {
			again()
			rows, err := r.Query()
			if err != nil {
				return err
			}
			var name, body []byte
			var isDir bool
			var a attributes
			_, err = pgx.ForEachRow(rows, append(append([]any{&name, &isDir}, a.fields()...), &body), func() error {
				add(a.meta(dir.Join(string(name)), isDir), body)
				return nil
			})
			return err
		})
}

// inDir runs what queue adds in one round trip with a look at dir, which must
// be a directory.
func (s *Store) inDir(ctx context.Context, dir backing.Key, queue func(*pgx.Batch), results func(pgx.BatchResults) error) error {
	isDir := false
	err := s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		above, name := at(dir)
		var b pgx.Batch
		b.Queue(`SELECT is_dir FROM ctxfs_objects WHERE dir = $1 AND name = $2`, above, name)
		queue(&b)
		return inBatch(ctx, conn, &b, func(r pgx.BatchResults) error {
			if err := r.QueryRow().Scan(&isDir); err != nil {
				return err
			}
			return results(r)
		})
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return backing.ErrNotFound
	case err == nil && !isDir:
		return backing.ErrNotDir
	}
	return err
}
