package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
	"ctxfs/backing/cache"
)

// StatCached implements [backing.Cached]. While the changes of other hosts are
// not heard of, and before the first Watch, it is Stat.
func (s *Store) StatCached(ctx context.Context, key backing.Key) (backing.Meta, error) {
	if !s.caches(key) {
		return s.Stat(ctx, key)
	}
	m, mark, state := s.listings.Look(key)
	if state == cache.Wanted {
		if err := s.fill(ctx, key.Dir()); err != nil {
			return m, told("stat", key, err)
		}
		m, mark, state = s.listings.Look(key)
	}
	switch state {
	case cache.Known:
		return m, nil
	case cache.Absent:
		return m, told("stat", key, backing.ErrNotFound)
	case cache.Unknown:
		return s.learn(ctx, key, mark)
	}
	return s.Stat(ctx, key)
}

// caches reports whether what is known of key may be served. What is not listed
// is not known.
func (s *Store) caches(key backing.Key) bool {
	return key != "" && !key.Under(backing.Own) && checkKey(key) == nil && s.feed.fresh()
}

// learn is Stat of a key that was Unknown with that mark.
func (s *Store) learn(ctx context.Context, key backing.Key, mark cache.Mark) (backing.Meta, error) {
	m, err := s.Stat(ctx, key)
	switch {
	case err == nil:
		s.listings.Learn(key, mark, &m)
	case errors.Is(err, backing.ErrNotFound):
		s.listings.Learn(key, mark, nil)
	}
	return m, err
}

// fillPage is how many members are listed in one round trip.
const fillPage = 2000

// fill lists dir, where nobody else is at it. That there is no such directory
// is no error.
func (s *Store) fill(ctx context.Context, dir backing.Key) error {
	if err := s.begin(dir); err != nil {
		return err
	}
	defer s.end()
	f := s.listings.Fill(dir)
	if f == nil {
		return nil
	}
	for after := ""; ; {
		page, err := s.list(ctx, dir, after, fillPage)
		if err != nil {
			f.Cancel(false)
			if errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir) {
				return nil
			}
			return err
		}
		if !f.Add(page) {
			f.Cancel(true)
			return nil
		}
		if len(page) < fillPage {
			f.Done()
			return nil
		}
		after = page[len(page)-1].Key.Name()
	}
}

// listTries bounds how often members are learned that change all the time.
const listTries = 3

// ListCached implements [backing.Cached]. While the changes of other hosts are
// not heard of, and before the first Watch, it is List.
func (s *Store) ListCached(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	if dir.Under(backing.Own) && dir != "" || !s.feed.fresh() {
		return s.List(ctx, dir, after, limit)
	}
	for range listTries {
		page, first, listed := s.listings.Page(dir, after, limit)
		var err error
		switch {
		case !listed && after != "":
			// It is too large, or was dropped on the way.
			return s.List(ctx, dir, after, limit)
		case !listed:
			err = s.fill(ctx, dir)
		case len(first) > 0:
			err = s.learnAll(ctx, dir, first)
		default:
			s.ahead.listed(dir, time.Now())
			return page, nil
		}
		if err != nil {
			return nil, told("list", dir, err)
		}
	}
	return s.List(ctx, dir, after, limit)
}

const membersSQL = `SELECT ` + memberColumns + ` FROM ctxfs_objects WHERE dir = $1 AND name = ANY($2)`

// learnAll looks at members of dir in one round trip.
func (s *Store) learnAll(ctx context.Context, dir backing.Key, doubtful []cache.Doubtful) error {
	if err := s.begin(dir); err != nil {
		return err
	}
	defer s.end()
	names := make([][]byte, len(doubtful))
	for i, d := range doubtful {
		names[i] = []byte(d.Key.Name())
	}
	var found map[backing.Key]backing.Meta
	err := s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		found = map[backing.Key]backing.Meta{}
		rows, err := conn.Query(ctx, membersSQL, []byte(dir), names)
		if err != nil {
			return err
		}
		return eachMember(rows, dir, func(m backing.Meta) { found[m.Key] = m })
	})
	if err != nil {
		return err
	}
	for _, d := range doubtful {
		if m, ok := found[d.Key]; ok {
			s.listings.Learn(d.Key, d.Mark, &m)
		} else {
			s.listings.Learn(d.Key, d.Mark, nil)
		}
	}
	return nil
}
