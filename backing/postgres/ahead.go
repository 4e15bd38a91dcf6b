package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

const (
	// aheadWithin is the time after a listing of a directory, or a content of it,
	// within which another content says that somebody reads all of them.
	aheadWithin = 100 * time.Millisecond
	// aheadMost and aheadSize bound what is then fetched at once: a number, and
	// bytes.
	aheadMost = 256
	aheadSize = 1 << 20
	// aheadDirs is of how many directories it is known when they were last read:
	// more than programs walk at once, and fewer than those who read the entries
	// of all directories in the order of their times meet before they come back.
	// What they were given of each would be gone until they do.
	aheadDirs = 64
)

// ahead is the reading of contents before they are asked for.
type ahead struct {
	mu      sync.Mutex // guards what follows
	last    map[backing.Key]time.Time
	running map[backing.Key]chan struct{} // by directory; closed at the end
}

// begin says what to do about a content of dir that is not here: wait for what
// is being fetched of dir, or fetch more than the one, and then call end.
func (a *ahead) begin(dir backing.Key, now time.Time) (wait <-chan struct{}, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if running := a.running[dir]; running != nil {
		return running, false
	}
	if a.running == nil {
		a.running = map[backing.Key]chan struct{}{}
	}
	more = now.Sub(a.last[dir]) < aheadWithin
	a.note(dir, now)
	if more {
		a.running[dir] = make(chan struct{})
	}
	return nil, more
}

// listed notes that dir is listed.
func (a *ahead) listed(dir backing.Key, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note(dir, now)
}

// note notes when dir was read. a.mu is held.
func (a *ahead) note(dir backing.Key, now time.Time) {
	if a.last == nil {
		a.last = map[backing.Key]time.Time{}
	}
	a.last[dir] = now
	if len(a.last) <= aheadDirs {
		return
	}
	oldest := dir
	for d, at := range a.last {
		if at.Before(a.last[oldest]) {
			oldest = d
		}
	}
	delete(a.last, oldest)
}

func (a *ahead) end(dir backing.Key, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.running[dir])
	delete(a.running, dir)
	a.note(dir, now)
}

// cached returns the content of key at revision rev from the cache, into which
// it may fetch it with its neighbours.
func (s *Store) cached(ctx context.Context, key backing.Key, rev backing.Revision) ([]byte, bool) {
	if s.o.Cache < 0 {
		return nil, false
	}
	if data, ok := s.contents.Get(key, rev); ok {
		return data, true
	}
	wait, more := s.ahead.begin(key.Dir(), time.Now())
	switch {
	case wait != nil:
		select {
		case <-wait:
		case <-ctx.Done():
		}
	case more:
		s.readAhead(ctx, key)
	default:
		return nil, false
	}
	return s.contents.Get(key, rev)
}

// contentsSQL leaves out contents of several chunks, which are small only where
// they were appended to: Open puts them together.
const contentsSQL = `
SELECT o.name, o.rev, c.data FROM ctxfs_objects o JOIN ctxfs_chunks c ON c.body = o.body AND c.off = 0
WHERE o.dir = $1 AND o.name = ANY($2) AND o.size <= $3 AND octet_length(c.data) = o.size`

// readAhead fetches the content of key, and of others in its directory, into
// the cache. What it cannot get is for Open to tell.
func (s *Store) readAhead(ctx context.Context, key backing.Key) {
	dir := key.Dir()
	defer func() { s.ahead.end(dir, time.Now()) }()
	list := s.listings.Around(key, aheadMost, aheadSize, func(m backing.Meta) bool {
		return m.Size <= smallMax && !s.contents.Has(m.Key, m.Revision)
	})
	if len(list) == 0 {
		return
	}
	names := make([][]byte, len(list))
	for i, m := range list {
		names[i] = []byte(m.Key.Name())
	}
	err := s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, contentsSQL, []byte(dir), names, smallMax)
		if err != nil {
			return err
		}
		var name, data pgtype.DriverBytes // good until the next row
		var rev id
		_, err = pgx.ForEachRow(rows, []any{&name, &rev, &data}, func() error {
			s.contents.Put(dir.Join(string(name)), revision(rev), data)
			return nil
		})
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.o.Log.Debug("contents were not read ahead", "dir", dir, "err", err)
	}
}
