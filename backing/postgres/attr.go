package postgres

import (
	"context"
	"errors"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// owner is whom new objects belong to: who this process runs as, as in a
// directory of this machine.
func owner() (uid, gid int64) { return int64(os.Geteuid()), int64(os.Getegid()) }

const setAttrSQL = `
WITH set AS (
  UPDATE ctxfs_objects SET mode = coalesce($3, mode), uid = coalesce($4, uid), gid = coalesce($5, gid),
    mtime = coalesce($6, mtime), rev = CASE WHEN $6::bigint IS NULL THEN rev ELSE $7::uuid END
  WHERE dir = $1 AND name = $2 RETURNING ` + objectColumns + `
), changed AS (
  INSERT INTO ctxfs_changes (write, dir, name) SELECT $7::uuid, $1::bytea, $2::bytea FROM set
)
SELECT ` + objectColumns + ` FROM set`

// SetAttr changes metadata. A new ModTime makes a new revision; mode and
// owner do not.
func (s *Store) SetAttr(ctx context.Context, key backing.Key, c backing.AttrChange) (backing.Meta, error) {
	m, err := s.setAttr(ctx, key, c)
	return m, told("set attributes of", key, err)
}

func (s *Store) setAttr(ctx context.Context, key backing.Key, c backing.AttrChange) (backing.Meta, error) {
	if key == backing.Own {
		return backing.Meta{}, backing.ErrBadKey
	}
	if err := s.beginChange(key); err != nil {
		return backing.Meta{}, err
	}
	defer s.end()
	var mode *int32
	if c.Mode != nil {
		perm := int32(c.Mode.Perm())
		mode = &perm
	}
	var mtime *int64
	if c.ModTime != nil {
		when := nanoseconds(*c.ModTime)
		mtime = &when
	}
	var o object
	dir, name := at(key)
	_, blind, err := s.write(ctx, key, func(ctx context.Context, conn *pgxpool.Conn, id id) (*backing.Meta, error) {
		rows, err := conn.Query(ctx, setAttrSQL, dir, name, mode, wide(c.UID), wide(c.GID), mtime, id)
		if err == nil {
			err = missed(one(rows, o.fields()...))
		}
		left := o.meta(key)
		return &left, err
	})
	if errors.Is(err, errMissed) {
		return backing.Meta{}, backing.ErrNotFound
	}
	if blind {
		var now *object
		if now, err = s.look(ctx, key); err == nil {
			o = *now
		}
	}
	return o.meta(key), err
}

// wide is an owner as the tables have it.
func wide(of *uint32) *int64 {
	if of == nil {
		return nil
	}
	n := int64(*of)
	return &n
}
