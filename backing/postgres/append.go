package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// tailMax is the size, in bytes, up to which appends join the last chunk:
// each writes that chunk anew.
const tailMax = 8 << 10

// appendSQL runs when the object's row is locked already, in a statement of
// its own: the chunks that this one sees are those of the newest append.
const appendSQL = `
WITH grown AS (
  UPDATE ctxfs_objects SET size = size + $3::bigint, mtime = $4, rev = $5
  WHERE dir = $1 AND name = $2 AND NOT is_dir RETURNING ` + objectColumns + `
), tail AS (
  SELECT c.body, c.off FROM grown g JOIN ctxfs_chunks c ON c.body = g.body
  WHERE c.off = (SELECT max(off) FROM ctxfs_chunks WHERE body = g.body)
    AND octet_length(c.data) + $3::bigint <= $8::bigint
), longer AS (
  UPDATE ctxfs_chunks c SET data = c.data || $9::bytea FROM tail WHERE c.body = tail.body AND c.off = tail.off
), chunks AS (
  INSERT INTO ctxfs_chunks (body, off, data)
  SELECT g.body, g.size - $3::bigint + o, d FROM grown g, unnest($6::bigint[], $7::bytea[]) AS piece(o, d)
  WHERE NOT EXISTS (SELECT FROM tail)
), changed AS (
  INSERT INTO ctxfs_changes (write, dir, name) SELECT $5::uuid, $1::bytea, $2::bytea FROM grown
)
SELECT ` + objectColumns + ` FROM grown`

// Append adds data at the end of the object at key, durably.
func (s *Store) Append(ctx context.Context, key backing.Key, data []byte) (backing.Meta, error) {
	m, err := s.append(ctx, key, data)
	return m, told("append to", key, err)
}

func (s *Store) append(ctx context.Context, key backing.Key, data []byte) (backing.Meta, error) {
	if err := s.beginWrite(key); err != nil {
		return backing.Meta{}, err
	}
	defer s.end()
	for {
		o, err := s.appendTo(ctx, key, data)
		if !errors.Is(err, errMissed) {
			if err != nil {
				return backing.Meta{}, err
			}
			return o.meta(key), nil
		}
		cur, err := s.look(ctx, key)
		if err == nil && cur.dir {
			return backing.Meta{}, backing.ErrIsDir
		}
		if err == nil {
			continue // made just now
		}
		if !errors.Is(err, backing.ErrNotFound) {
			return backing.Meta{}, err
		}
		if err := s.wantDir(ctx, key.Dir()); err != nil {
			return backing.Meta{}, err
		}
		if err := s.createEmpty(ctx, key); err != nil && !errors.Is(err, errMissed) {
			return backing.Meta{}, err
		}
	}
}

// appendTo is errMissed where there is no object.
func (s *Store) appendTo(ctx context.Context, key backing.Key, data []byte) (*object, error) {
	var o object
	dir, name := at(key)
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	offs, pieces := cut(data)
	_, blind, err := s.write(ctx, key, func(ctx context.Context, conn *pgxpool.Conn, id id) (*backing.Meta, error) {
		var b pgx.Batch
		b.Queue(`SELECT FROM ctxfs_objects WHERE dir = $1 AND name = $2 FOR UPDATE`, dir, name)
		b.Queue(appendSQL, dir, name, len(data), time.Now().UnixNano(), id, offs, pieces, tailMax, data)
		err := inBatch(ctx, conn, &b, func(r pgx.BatchResults) error {
			if _, err := r.Exec(); err != nil {
				return err
			}
			return missed(r.QueryRow().Scan(o.fields()...))
		})
		left := o.meta(key)
		return &left, err
	})
	if !blind {
		return &o, err
	}
	now, err := s.look(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("%w: look at what was appended to: %w", backing.ErrUnknown, err)
	}
	return now, nil
}

// createEmpty makes an object to append to.
func (s *Store) createEmpty(ctx context.Context, key backing.Key) error {
	_, _, err := s.write(ctx, key, func(ctx context.Context, conn *pgxpool.Conn, id id) (*backing.Meta, error) {
		o := object{attributes: attributes{mtime: time.Now().UnixNano(), rev: id}, body: id}
		o.own()
		left := o.meta(key)
		return &left, create(ctx, conn, key, &o, &body{})
	})
	return err
}

// Sync has nothing to do: an append is durable when it returns.
func (s *Store) Sync(ctx context.Context, key backing.Key) error {
	if err := s.beginWrite(key); err != nil {
		return told("sync", key, err)
	}
	defer s.end()
	_, err := s.look(ctx, key)
	return told("sync", key, err)
}
