package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctxfs/backing"
)

// withBody adds its content to what a statement found, where that is small; of
// a large one the server does not even look at the chunks. One statement sees
// one state, so that content and description agree.
const withBody = `
SELECT f.size, f.is_dir, f.body, small.data FROM found f
LEFT JOIN LATERAL (
  SELECT string_agg(data, ''::bytea ORDER BY off) AS data FROM ctxfs_chunks WHERE body = f.body AND f.size <= $1::bigint
) small ON true`

const openSQL = `
WITH found AS (
  SELECT size, is_dir, body FROM ctxfs_objects WHERE dir = $2 AND name = $3 AND ($4::boolean OR rev = $5 OR is_dir)
  UNION ALL
  SELECT size, false, body FROM ctxfs_versions WHERE NOT $4::boolean AND dir = $2 AND name = $3 AND rev = $5
  LIMIT 1
)` + withBody

const openVersionSQL = `
WITH found AS (
  SELECT size, false AS is_dir, body FROM ctxfs_versions WHERE dir = $2 AND name = $3 AND n = $4
)` + withBody

// Open returns the content of key at revision rev: the current one, or a kept
// version that had it. A small content is in memory then, and in the cache by
// its revision; a large one is read from the database in chunks. What is cached
// can be opened by its revision also when it was removed.
func (s *Store) Open(ctx context.Context, key backing.Key, rev backing.Revision) (backing.Content, error) {
	if err := s.begin(key); err != nil {
		return nil, told("open", key, err)
	}
	defer s.end()
	if rev != "" {
		if data, ok := s.cached(ctx, key, rev); ok {
			return &smallContent{data: data}, nil
		}
	}
	dir, name := at(key)
	c, err := s.openBody(ctx, openSQL, smallMax, dir, name, rev == "", parseRevision(rev))
	if small, ok := c.(*smallContent); ok && rev != "" {
		s.contents.Put(key, rev, small.data)
	}
	return c, told("open", key, err)
}

// OpenVersion returns the content of version n of key.
func (s *Store) OpenVersion(ctx context.Context, key backing.Key, n int) (backing.Content, error) {
	what := fmt.Sprintf("open version %d of", n)
	if err := s.begin(key); err != nil {
		return nil, told(what, key, err)
	}
	defer s.end()
	dir, name := at(key)
	c, err := s.openBody(ctx, openVersionSQL, smallMax, dir, name, n)
	return c, told(what, key, err)
}

func (s *Store) openBody(ctx context.Context, sql string, args ...any) (backing.Content, error) {
	var size int64
	var isDir bool
	var body id
	var data []byte
	err := s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, sql, args...).Scan(&size, &isDir, &body, &data)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, backing.ErrNotFound
	case err != nil:
		return nil, err
	case isDir:
		return nil, backing.ErrIsDir
	case size > smallMax:
		s.reading.add(body)
		return &content{s: s, body: body, size: size}, nil
	case int64(len(data)) != size:
		return nil, fmt.Errorf("%d bytes are in the database, there should be %d: %w", len(data), size, errDamaged)
	}
	return &smallContent{data: data}, nil
}

var errDamaged = errors.New("the store is damaged")

// smallContent is in memory.
type smallContent struct {
	mu     sync.RWMutex // guards closed
	closed bool
	data   []byte
}

func (c *smallContent) Size() int64 { return int64(len(c.data)) }

func (c *smallContent) ReadAt(p []byte, off int64) (int, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return 0, os.ErrClosed
	}
	return readAt(c.data, p, off)
}

// readAt is io.ReaderAt on all, without allocating.
func readAt(all, p []byte, off int64) (int, error) {
	if off >= int64(len(all)) {
		return 0, io.EOF
	}
	n := copy(p, all[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (c *smallContent) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return os.ErrClosed
	}
	c.closed = true
	return nil
}

// content is read from the database chunk by chunk; it keeps the last one,
// because readers go on where they were.
type content struct {
	s    *Store
	body id
	size int64

	mu     sync.Mutex // guards what follows; held while a chunk is fetched
	closed bool
	off    int64 // of chunk
	chunk  []byte
}

func (c *content) Size() int64 { return c.size }

func (c *content) ReadAt(p []byte, off int64) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, os.ErrClosed
	}
	if off < 0 {
		return 0, fmt.Errorf("read at %d: before the start", off)
	}
	for n < len(p) && off+int64(n) < c.size {
		at := off + int64(n)
		if at < c.off || at >= c.off+int64(len(c.chunk)) {
			if err := c.fetch(at); err != nil {
				return n, err
			}
		}
		// What was appended since this was opened is not part of it.
		part := c.chunk[at-c.off:]
		n += copy(p[n:], part[:min(int64(len(part)), c.size-at)])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// fetch gets the chunk that holds the byte at off. Nobody cancels it: who
// reads a Content has no context.
func (c *content) fetch(off int64) error {
	err := c.s.call(context.Background(), func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, `SELECT off, data FROM ctxfs_chunks WHERE body = $1 AND off <= $2 ORDER BY off DESC LIMIT 1`,
			c.body, off).Scan(&c.off, &c.chunk)
	})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && off >= c.off+int64(len(c.chunk)) {
		err = fmt.Errorf("the byte at %d is not in the database, perhaps because this host did not reach it for an hour: %w", off, errDamaged)
	}
	if err != nil {
		c.off, c.chunk = 0, nil
		return fmt.Errorf("read content: %w", err)
	}
	return nil
}

// Close lets the content's bytes go, where the store has replaced them.
func (c *content) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return os.ErrClosed
	}
	c.closed, c.chunk = true, nil
	c.s.reading.remove(c.body)
	return nil
}
