package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// removeSQL removes the object where $4 says so, if it has the revision $3
// (or any, where $5 says so), and the versions with the numbers $6 that still
// have the revisions $7. Of the object's and the versions' bodies small ones
// go at once, large ones when nobody can be reading them any more.
const removeSQL = `
WITH object AS (
  SELECT body, size FROM ctxfs_objects
  WHERE $4::boolean AND dir = $1 AND name = $2 AND NOT is_dir AND ($5::boolean OR rev = $3) FOR UPDATE
), go AS (
  SELECT 1 WHERE NOT $4::boolean OR EXISTS (SELECT FROM object)
), removed AS (
  DELETE FROM ctxfs_objects USING go WHERE $4::boolean AND dir = $1 AND name = $2
), versions AS (
  DELETE FROM ctxfs_versions v USING go, unnest($6::integer[], $7::uuid[]) AS w(n, rev)
  WHERE v.dir = $1 AND v.name = $2 AND v.n = w.n AND v.rev = w.rev RETURNING v.body, v.size
), bodies AS (
  SELECT body, size FROM object UNION ALL SELECT body, size FROM versions
), gone AS (
  DELETE FROM ctxfs_chunks c USING bodies b WHERE c.body = b.body AND b.size <= $8::bigint
), loosened AS (
  INSERT INTO ctxfs_loose (body, until) SELECT body, now() + interval '` + looseFor + `' FROM bodies WHERE size > $8::bigint
)
INSERT INTO ctxfs_changes (write, dir, name) SELECT $9::uuid, $1::bytea, $2::bytea FROM go RETURNING 1`

// remove runs removeSQL until the object and versions are gone, or cannot be.
// whatever is for an object of whatever revision.
func (s *Store) remove(ctx context.Context, r backing.Removal, whatever bool) error {
	dir, name := at(r.Key)
	object := whatever || r.Object != ""
	numbers, revs := []int32{}, []id{}
	for _, v := range r.Versions {
		numbers, revs = append(numbers, int32(v.N)), append(revs, parseRevision(v.Revision))
	}
	for {
		_, _, err := s.write(ctx, r.Key, func(ctx context.Context, conn *pgxpool.Conn, id id) (*backing.Meta, error) {
			rows, err := conn.Query(ctx, removeSQL, dir, name, parseRevision(r.Object), object, whatever, numbers, revs, smallMax, id)
			if err != nil {
				return nil, err
			}
			return nil, missed(one(rows, new(int)))
		})
		if err == nil {
			s.contents.Drop(r.Key, r.Object)
		}
		if !errors.Is(err, errMissed) {
			return err
		}
		cur, err := s.look(ctx, r.Key)
		switch {
		case err != nil:
			return err
		case cur.dir:
			return backing.ErrIsDir
		case !whatever && revision(cur.rev) != r.Object:
			return backing.ErrConflict
		}
	}
}

// Remove removes the object at key, durably. Its versions stay.
func (s *Store) Remove(ctx context.Context, key backing.Key, rev backing.Revision) error {
	if err := s.beginWrite(key); err != nil {
		return told("remove", key, err)
	}
	defer s.end()
	return told("remove", key, s.remove(ctx, backing.Removal{Key: key, Object: rev}, rev == ""))
}

// Discard removes objects, each with its versions at once, and directories.
func (s *Store) Discard(ctx context.Context, list []backing.Removal) []error {
	errs := make([]error, len(list))
	for i, r := range list {
		errs[i] = told("remove", r.Key, s.discard(ctx, r))
	}
	return errs
}

func (s *Store) discard(ctx context.Context, r backing.Removal) error {
	if err := s.beginWrite(r.Key); err != nil {
		return err
	}
	defer s.end()
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.Dir {
		return s.removeDir(ctx, r.Key)
	}
	if r.Object == "" && len(r.Versions) == 0 {
		return nil
	}
	return s.remove(ctx, r, false)
}
