package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Reader searches an index that this or another process writes.
type Reader struct {
	path    string
	content Content

	mu sync.Mutex // guards db
	db *sql.DB    // nil until it is needed
}

// OpenReader returns a reader of the index in the file at path. Entries are
// read from content. An error that [IsDamaged] reports means that the file
// has to be made anew by who writes it.
func OpenReader(ctx context.Context, path string, content Content) (*Reader, error) {
	r := &Reader{path: path, content: content}
	_, err := r.file(ctx)
	return r, err
}

// IsDamaged reports whether an error of a search says that the index is
// missing, damaged or of another version.
func IsDamaged(err error) bool { return errors.Is(err, errDamaged) }

// Close closes the file.
func (r *Reader) Close() error { return r.reset() }

// reset lets the next question open the file again.
func (r *Reader) reset() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db == nil {
		return nil
	}
	db := r.db
	r.db = nil
	return db.Close()
}

func (r *Reader) file(ctx context.Context) (*sql.DB, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db != nil {
		return r.db, nil
	}
	db, err := openFile(ctx, r.path)
	if err != nil {
		return nil, fmt.Errorf("open the index %s: %w", r.path, err)
	}
	r.db = db
	return db, nil
}

// Hit is an entry that was found.
type Hit struct {
	Path       string
	Agent      string // the directory
	Session    string
	Type       string
	Title      string
	Tags       []string
	Time       time.Time // from the name, UTC
	Superseded bool      // by another entry
	Lines      []Line    // what to show of it
}

// found is a row of the index.
type found struct {
	id         int64
	path       string
	time       int64
	superseded bool
}

// Search returns the entries that q asks for: the best first where it has
// words, else the newest first. A query that cannot be understood is a
// *QueryError.
func (r *Reader) Search(ctx context.Context, q Query) ([]Hit, error) {
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	switch {
	case q.Words != "" && q.Regex != "":
		return nil, &QueryError{"words and a regular expression exclude each other", "leave one of them out"}
	case q.Regex != "":
		return r.searchRegex(ctx, q)
	}
	db, err := r.file(ctx)
	if err != nil {
		return nil, err
	}
	ask := search{q: q, db: db, facets: facetFilters(q)}
	var rows []found
	if q.Words == "" {
		rows, err = ask.newest(ctx)
	} else if ask.terms, err = parseWords(q.Words); err == nil {
		rows, err = ask.best(ctx)
	}
	if bad := (*QueryError)(nil); errors.As(err, &bad) {
		return nil, err
	}
	if err != nil {
		return nil, damaged(fmt.Errorf("search: %w", err))
	}
	return inParallel(ctx, rows, func(ctx context.Context, f found) (Hit, bool, error) {
		text, _, err := readText(ctx, r.content, f.path, "", maxText)
		if gone(err) {
			return Hit{}, false, nil
		}
		if err != nil {
			return Hit{}, false, fmt.Errorf("read %s: %w", f.path, err)
		}
		return hitOf(f, text, snippet(text, ask.terms)), true, nil
	})
}
