package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// createSQL makes an object or directory where there is none, in a directory
// that is there and stays: its row is locked as a foreign key would. A large
// body must not have been swept away.
const createSQL = `
WITH parent AS (
  SELECT 1 FROM ctxfs_objects WHERE dir = $3 AND name = $4 AND is_dir FOR KEY SHARE
), held AS (
  SELECT body FROM ctxfs_loose WHERE body = $13 AND $16::boolean FOR UPDATE
), made AS (
  INSERT INTO ctxfs_objects (dir, name, is_dir, size, mtime, mode, uid, gid, rev, op, body)
  SELECT $1::bytea, $2::bytea, $5::boolean, $6::bigint, $7::bigint, $8::integer, $9::bigint, $10::bigint, $11::uuid, $12::text, $13::uuid
  FROM parent WHERE NOT $16::boolean OR EXISTS (SELECT FROM held)
  ON CONFLICT DO NOTHING RETURNING 1
), chunks AS (
  INSERT INTO ctxfs_chunks (body, off, data)
  SELECT $13::uuid, o, d FROM made, unnest($14::bigint[], $15::bytea[]) AS piece(o, d)
), published AS (
  DELETE FROM ctxfs_loose USING made WHERE $16::boolean AND body = $13
)
INSERT INTO ctxfs_changes (write, dir, name) SELECT $11::uuid, $1::bytea, $2::bytea FROM made RETURNING 1`

// create runs createSQL. The write's id is o.rev.
func create(ctx context.Context, conn *pgxpool.Conn, key backing.Key, o *object, b *body) error {
	dir, name := at(key)
	parentDir, parentName := at(key.Dir())
	offs, pieces := cut(b.small)
	rows, err := conn.Query(ctx, createSQL, dir, name, parentDir, parentName,
		o.dir, o.size, o.mtime, o.mode, o.uid, o.gid, o.rev, o.op, o.body, offs, pieces, b.isLarge())
	if err != nil {
		return err
	}
	return missed(one(rows, new(int)))
}

// missed turns "no row" into errMissed.
func missed(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return errMissed
	}
	return err
}

// replaceSQL puts another content in the place of that with the revision $3,
// which becomes the next version or goes. FOR UPDATE sees the newest row,
// whatever the statement's snapshot is: of two writers one finds its revision
// gone. The version's number comes from the snapshot, and may be taken: then
// the statement fails on it and is tried again.
const replaceSQL = `
WITH old AS (
  SELECT dir, name, ` + columns + `, body FROM ctxfs_objects
  WHERE dir = $1 AND name = $2 AND rev = $3 AND NOT is_dir AND ($8 = '' OR op <> $8) FOR UPDATE
), held AS (
  SELECT body FROM ctxfs_loose WHERE body = $9 AND $13::boolean FOR UPDATE
), put AS (
  UPDATE ctxfs_objects o
  SET size = $4, mtime = $5, mode = CASE WHEN $6::integer = 0 THEN old.mode ELSE $6::integer END, rev = $7, op = $8, body = $9
  FROM old WHERE o.dir = $1 AND o.name = $2 AND (NOT $13::boolean OR EXISTS (SELECT FROM held))
  RETURNING o.mode, o.uid, o.gid
), kept AS (
  INSERT INTO ctxfs_versions (dir, name, n, ` + columns + `, body)
  SELECT dir, name, 1 + coalesce((SELECT max(n) FROM ctxfs_versions WHERE dir = $1 AND name = $2), 0),
    size, mtime, old.mode, old.uid, old.gid, rev, body
  FROM old, put WHERE $12::boolean
), gone AS (
  DELETE FROM ctxfs_chunks c USING old, put WHERE NOT $12::boolean AND c.body = old.body AND old.size <= $14::bigint
), loosened AS (
  INSERT INTO ctxfs_loose (body, until) SELECT old.body, now() + interval '` + looseFor + `'
  FROM old, put WHERE NOT $12::boolean AND old.size > $14::bigint
), chunks AS (
  INSERT INTO ctxfs_chunks (body, off, data)
  SELECT $9::uuid, o, d FROM put, unnest($10::bigint[], $11::bytea[]) AS piece(o, d)
), published AS (
  DELETE FROM ctxfs_loose USING put WHERE $13::boolean AND body = $9
), changed AS (
  INSERT INTO ctxfs_changes (write, dir, name) SELECT $7::uuid, $1::bytea, $2::bytea FROM put
)
SELECT mode, uid, gid FROM put`

// replace runs replaceSQL. The write's id is a.rev; mode and owner come back.
func (p *put) replace(ctx context.Context, conn *pgxpool.Conn, a *attributes) error {
	dir, name := at(p.key)
	offs, pieces := cut(p.body.small)
	rows, err := conn.Query(ctx, replaceSQL, dir, name, parseRevision(p.cond), a.size, a.mtime, int32(p.o.Mode.Perm()),
		a.rev, p.o.Op, p.body.of(a.rev), offs, pieces, p.o.KeepVersion, p.body.isLarge(), smallMax)
	if err != nil {
		return err
	}
	return missed(one(rows, &a.mode, &a.uid, &a.gid))
}
