package postgres

import (
	"encoding/hex"
	"io/fs"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
)

// id names a write, and with it the revision and the body that it made. Ids
// made later are greater, as far as clocks agree: they lie together in indexes.
type id = [16]byte

func newID() id { return id(uuid.Must(uuid.NewV7())) } // it fails only where the system has no randomness

func revision(of id) backing.Revision { return backing.Revision(hex.EncodeToString(of[:])) }

// parseRevision returns what no object has where rev is none of this store's.
func parseRevision(rev backing.Revision) id {
	var of id
	if n, err := hex.Decode(of[:], []byte(rev[:min(len(rev), 2*len(of))])); err != nil || n != len(of) || len(rev) != 2*len(of) {
		return id{}
	}
	return of
}

// attributes are the columns of an object or version that describe it, in the
// order of columns.
type attributes struct {
	size, mtime int64
	mode        int32
	uid, gid    int64
	rev         id
}

const columns = "size, mtime, mode, uid, gid, rev"

func (a *attributes) fields() []any {
	return []any{&a.size, &a.mtime, &a.mode, &a.uid, &a.gid, &a.rev}
}

func (a *attributes) meta(key backing.Key, dir bool) backing.Meta {
	return backing.Meta{
		Key: key, Dir: dir, Size: a.size, ModTime: time.Unix(0, a.mtime), Mode: fs.FileMode(a.mode),
		UID: uint32(a.uid), GID: uint32(a.gid), Revision: revision(a.rev),
	}
}

// object is what one key has.
type object struct {
	attributes
	dir  bool
	op   string
	body id
}

const objectColumns = columns + ", is_dir, op, body"

func (o *object) fields() []any {
	return append(o.attributes.fields(), &o.dir, &o.op, &o.body)
}

func (o *object) meta(key backing.Key) backing.Meta { return o.attributes.meta(key, o.dir) }

// at are the two parameters that name key in a statement.
func at(key backing.Key) (dir, name []byte) { return []byte(key.Dir()), []byte(key.Name()) }

// nanoseconds is t as the tables have it; what lies beyond the years 1678 to
// 2262 becomes their end.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// one reads the only row of rows, or pgx.ErrNoRows.
func one(rows pgx.Rows, into ...any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}
