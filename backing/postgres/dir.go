package postgres

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// MakeDir makes a directory, durably.
func (s *Store) MakeDir(ctx context.Context, key backing.Key, mode fs.FileMode) (backing.Meta, error) {
	if err := s.beginWrite(key); err != nil {
		return backing.Meta{}, told("make directory", key, err)
	}
	defer s.end()
	m, err := s.makeDir(ctx, key, mode)
	return m, told("make directory", key, err)
}

func (s *Store) makeDir(ctx context.Context, key backing.Key, mode fs.FileMode) (backing.Meta, error) {
	o := object{dir: true}
	for {
		_, _, err := s.write(ctx, key, func(ctx context.Context, conn *pgxpool.Conn, id id) (*backing.Meta, error) {
			o.attributes = attributes{mtime: time.Now().UnixNano(), mode: int32(mode.Perm()), rev: id}
			o.uid, o.gid = owner()
			o.body = id
			left := o.meta(key)
			return &left, create(ctx, conn, key, &o, &body{})
		})
		if !errors.Is(err, errMissed) {
			return o.meta(key), err
		}
		if _, err := s.look(ctx, key); err == nil {
			return backing.Meta{}, backing.ErrExists
		} else if !errors.Is(err, backing.ErrNotFound) {
			return backing.Meta{}, err
		}
		if err := s.wantDir(ctx, key.Dir()); err != nil {
			return backing.Meta{}, err
		}
	}
}

// RemoveDir removes an empty directory, durably.
func (s *Store) RemoveDir(ctx context.Context, key backing.Key) error {
	if err := s.beginWrite(key); err != nil {
		return told("remove directory", key, err)
	}
	defer s.end()
	return told("remove directory", key, s.removeDir(ctx, key))
}

// removeDir locks the directory's row against members that are just being
// made, and then looks for members: the second statement sees what was made
// until it had the lock.
func (s *Store) removeDir(ctx context.Context, key backing.Key) error {
	for {
		_, _, err := s.write(ctx, key, func(ctx context.Context, conn *pgxpool.Conn, id id) (*backing.Meta, error) {
			dir, name := at(key)
			var b pgx.Batch
			b.Queue(`SELECT FROM ctxfs_objects WHERE dir = $1 AND name = $2 AND is_dir FOR UPDATE`, dir, name)
			b.Queue(`WITH gone AS (
				DELETE FROM ctxfs_objects WHERE dir = $1 AND name = $2 AND is_dir
					AND NOT EXISTS (SELECT FROM ctxfs_objects WHERE dir = $3) RETURNING 1
				)
				INSERT INTO ctxfs_changes (write, dir, name) SELECT $4::uuid, $1::bytea, $2::bytea FROM gone RETURNING 1`,
				dir, name, []byte(key), id)
			return nil, inBatch(ctx, conn, &b, func(r pgx.BatchResults) error {
				if _, err := r.Exec(); err != nil {
					return err
				}
				return missed(r.QueryRow().Scan(new(int)))
			})
		})
		if !errors.Is(err, errMissed) {
			return err
		}
		cur, err := s.look(ctx, key)
		switch {
		case err != nil:
			return err
		case !cur.dir:
			return backing.ErrNotDir
		}
		page, err := s.list(ctx, key, "", 1)
		switch {
		case err != nil:
			return err
		case len(page) > 0:
			return backing.ErrNotEmpty
		}
	}
}
