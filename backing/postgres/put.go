package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// Put replaces the object at key. Object, version and change are written by
// one statement, in one round trip where o.If says what is there.
func (s *Store) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	m, err := s.put(ctx, key, r, o)
	return m, told("put", key, err)
}

func (s *Store) put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	if err := s.beginWrite(key); err != nil {
		return backing.Meta{}, err
	}
	defer s.end()
	if err := checkOp(o.Op); err != nil {
		return backing.Meta{}, err
	}
	p := &put{s: s, key: key, o: o, cond: o.If}
	body, err := s.stage(ctx, r)
	if err != nil {
		return backing.Meta{}, err
	}
	p.body = body
	m, err := p.publish(ctx)
	if u, mine := r.(*upload); mine && err == nil {
		u.consume()
	}
	return m, err
}

// put is one put on its way.
type put struct {
	s    *Store
	key  backing.Key
	o    backing.PutOptions
	body *body
	cond backing.Revision // what o.If is, or what is there where that says nothing
}

// publish tries until the condition is met or certainly is not. Each time
// that it begins again somebody else has written.
func (p *put) publish(ctx context.Context) (backing.Meta, error) {
	if done, m, err := p.earlier(ctx); done || err != nil {
		return m, err
	}
	for {
		if p.o.If == "" {
			if done, m, err := p.look(ctx); done || err != nil {
				return m, err
			}
		}
		m, err := p.attempt(ctx)
		if !errors.Is(err, errMissed) {
			return m, err
		}
		if p.o.Op == "" && p.o.If != "" && p.o.If != backing.Absent {
			return m, backing.ErrConflict // whatever is there
		}
		if done, m, err := p.look(ctx); done || err != nil {
			return m, err
		}
	}
}

// look says why a put did not happen, and sets cond for the next try where
// nothing stands against it. done says that an earlier put with the same Op
// did happen.
func (p *put) look(ctx context.Context) (done bool, m backing.Meta, err error) {
	cur, err := p.s.look(ctx, p.key)
	switch {
	case errors.Is(err, backing.ErrNotFound):
		p.cond = backing.Absent
		if p.o.If != "" && p.o.If != backing.Absent {
			return false, m, backing.ErrConflict
		}
		return false, m, p.s.wantDir(ctx, p.key.Dir())
	case err != nil:
		return false, m, err
	case cur.dir:
		return false, m, backing.ErrIsDir
	case p.o.Op != "" && cur.op == p.o.Op:
		p.s.listings.Mark(p.key) // it may not have been heard of
		return true, cur.meta(p.key), nil
	}
	p.cond = revision(cur.rev)
	switch p.o.If {
	case "", p.cond:
		return false, m, nil
	case backing.Absent:
		return false, m, backing.ErrExists
	}
	return false, m, backing.ErrConflict
}

// attempt writes if cond is met, else it is errMissed.
func (p *put) attempt(ctx context.Context) (backing.Meta, error) {
	a := attributes{size: p.body.size, mtime: p.modTime(), mode: int32(p.o.Mode.Perm())}
	f := func(ctx context.Context, conn *pgxpool.Conn, id id) (*backing.Meta, error) {
		if p.o.Sure != nil && !p.o.Sure() {
			return nil, backing.ErrWithdrawn
		}
		var err error
		a.rev = id
		if p.cond == backing.Absent {
			a.own()
			err = create(ctx, conn, p.key, &object{attributes: a, op: p.o.Op, body: p.body.of(id)}, p.body)
		} else {
			err = p.replace(ctx, conn, &a)
		}
		left := a.meta(p.key, false)
		return &left, err
	}
	wrote, blind, err := p.s.write(ctx, p.key, f)
	m := a.meta(p.key, false)
	if blind {
		if m, err = p.written(ctx, wrote); err != nil {
			err = fmt.Errorf("%w: %w", backing.ErrUnknown, err)
		}
	}
	if errors.Is(err, backing.ErrUnknown) {
		p.s.unsettled.add(p.o.Op, wrote, p.s.o.Keep)
	}
	if err != nil {
		return backing.Meta{}, err
	}
	if !blind {
		p.keep(wrote)
	}
	return m, nil
}

// keep caches what was put.
func (p *put) keep(wrote id) {
	if !p.body.isLarge() {
		p.s.contents.Put(p.key, revision(wrote), p.body.small)
	}
	if !p.o.KeepVersion {
		p.s.contents.Drop(p.key, p.cond)
	}
}

func (p *put) modTime() int64 {
	if p.o.ModTime.IsZero() {
		return time.Now().UnixNano()
	}
	return nanoseconds(p.o.ModTime)
}

// written describes what the put wrote, whose answer was lost, has made.
func (p *put) written(ctx context.Context, wrote id) (backing.Meta, error) {
	cur, err := p.s.look(ctx, p.key)
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return backing.Meta{}, fmt.Errorf("look at what was put: %w", err)
	}
	if err == nil && cur.rev == wrote {
		return cur.meta(p.key), nil
	}
	// It was current, and is not any more.
	a := attributes{size: p.body.size, mtime: p.modTime(), mode: int32(p.o.Mode.Perm()), rev: wrote}
	if err == nil && a.mode == 0 {
		a.mode, a.uid, a.gid = cur.mode, cur.uid, cur.gid
	} else {
		a.own()
	}
	return a.meta(p.key, false), nil
}

// newMode is that of an object where nobody says otherwise.
const newMode = 0o644

// own gives a new object what it has where nobody says otherwise.
func (a *attributes) own() {
	a.uid, a.gid = owner()
	if a.mode == 0 {
		a.mode = newMode
	}
}

func checkOp(op string) error {
	if len(op) > 64 {
		return fmt.Errorf("operation id of %d bytes, 64 is the most: %w", len(op), syscall.EINVAL)
	}
	for _, c := range []byte(op) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
			return fmt.Errorf("operation id %q: only letters, digits and hyphens: %w", op, syscall.EINVAL)
		}
	}
	return nil
}

// look returns the object or directory at key.
func (s *Store) look(ctx context.Context, key backing.Key) (*object, error) {
	var o object
	err := s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		dir, name := at(key)
		return conn.QueryRow(ctx, "SELECT "+objectColumns+" FROM ctxfs_objects WHERE dir = $1 AND name = $2", dir, name).Scan(o.fields()...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, backing.ErrNotFound
	}
	return &o, err
}

// wantDir returns nil where dir is a directory. Below backing.Own it makes
// what is missing.
func (s *Store) wantDir(ctx context.Context, dir backing.Key) error {
	cur, err := s.look(ctx, dir)
	switch {
	case errors.Is(err, backing.ErrNotFound) && dir.Under(backing.Own):
		if err := s.wantDir(ctx, dir.Dir()); err != nil {
			return err
		}
		_, err = s.makeDir(ctx, dir, fs.FileMode(0o700))
		if errors.Is(err, backing.ErrExists) { // another put makes it just now
			return nil
		}
		return err
	case err != nil:
		return err
	case !cur.dir:
		return backing.ErrNotDir
	}
	return nil
}
