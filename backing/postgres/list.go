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

// listSQL lists. The top is a member of itself, by the empty name; Own is not
// shown.
const listSQL = `
SELECT ` + memberColumns + ` FROM ctxfs_objects
WHERE dir = $1 AND name > $2 AND NOT (dir = '' AND name IN ('', '` + backing.Own + `'))
ORDER BY name LIMIT $3`

func (s *Store) list(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	if limit <= 0 {
		return nil, nil
	}
	var page []backing.Meta
	err := s.inDir(ctx, dir, func(b *pgx.Batch) { b.Queue(listSQL, []byte(dir), []byte(after), limit) },
		func(r pgx.BatchResults) error {
			page = nil // it may be read twice
			rows, err := r.Query()
			if err != nil {
				return err
			}
			return eachMember(rows, dir, func(m backing.Meta) { page = append(page, m) })
		})
	return page, err
}

// memberColumns are what eachMember reads.
const memberColumns = `name, is_dir, ` + columns

// eachMember calls f for the members of dir that rows are.
func eachMember(rows pgx.Rows, dir backing.Key, f func(backing.Meta)) error {
	var name []byte
	var isDir bool
	var a attributes
	_, err := pgx.ForEachRow(rows, append([]any{&name, &isDir}, a.fields()...), func() error {
		f(a.meta(dir.Join(string(name)), isDir))
		return nil
	})
	return err
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
