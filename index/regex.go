package index

import (
	"context"
	"database/sql"
	"fmt"
	"math"
)

// The entries that an expression is matched in are read so many at a time: the
// more, the longer none matched.
const (
	firstChunk = 64
	lastChunk  = 1024
)

// searchRegex narrows the entries down by what they must hold, and matches
// those, newest first, until it has enough.
func (r *Reader) searchRegex(ctx context.Context, q Query) ([]Hit, error) {
	m, err := compile(q)
	if err != nil {
		return nil, err
	}
	db, err := r.file(ctx)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	q.Limit = -1
	ask := search{q: q, db: db, facets: facetFilters(q)}
	rows, err := ask.candidates(ctx, m.need)
	if err != nil {
		return nil, damaged(fmt.Errorf("search: %w", err))
	}
	defer rows.Close()
	var hits []Hit
	for size := firstChunk; limit < 0 || len(hits) < limit; size = min(2*size, lastChunk) {
		chunk, err := scan(rows, size)
		if err != nil {
			return nil, damaged(fmt.Errorf("search: %w", err))
		}
		more, err := inParallel(ctx, chunk, func(ctx context.Context, f found) (Hit, bool, error) { return r.match(ctx, f, m) })
		if err != nil {
			return nil, err
		}
		if hits = append(hits, more...); len(chunk) < size {
			break
		}
	}
	if limit >= 0 {
		hits = hits[:min(len(hits), limit)]
	}
	return hits, nil
}

// candidates are the entries that may hold what is needed.
func (s search) candidates(ctx context.Context, n need) (*sql.Rows, error) {
	narrow, err := n.expression(lookup{
		holding:   func(piece string) ([]string, bool, error) { return wordsWith(ctx, s.db, piece) },
		beginning: func(piece string) ([]string, bool, error) { return wordsFrom(ctx, s.db, piece, maxWords) },
	})
	if err != nil {
		return nil, err
	}
	switch {
	case narrow != "":
		narrow = "(" + narrow + " OR " + quoted(partMark) + ")"
		if len(s.facets) > 0 {
			narrow += " AND " + expression(nil, s.facets)
		}
		return s.query(ctx, fromWords, "words.rowid", "words", narrow)
	case len(s.facets) > 0:
		return s.query(ctx, fromHeads, "heads.rowid", "heads", expression(nil, s.facets))
	}
	return s.query(ctx, "entry e", "e.id", "")
}

// match reads the entry of f whole and matches its lines.
func (r *Reader) match(ctx context.Context, f found, m matcher) (Hit, bool, error) {
	text, _, err := readText(ctx, r.content, f.path, "", math.MaxInt64)
	if gone(err) {
		return Hit{}, false, nil
	}
	if err != nil {
		return Hit{}, false, fmt.Errorf("read %s: %w", f.path, err)
	}
	lines := m.lines(text)
	if len(lines) == 0 {
		return Hit{}, false, nil
	}
	return hitOf(f, text, lines), true, nil
}

// maxWords is how many words may hold a piece before it tells too little.
const maxWords = 200

// wordsWith returns the words that hold piece.
func wordsWith(ctx context.Context, db *sql.DB, piece string) ([]string, bool, error) {
	all, err := column[string](ctx, db, "SELECT word FROM word_part WHERE word_part MATCH ? LIMIT ?", quoted(piece), maxWords+1)
	return all, len(all) <= maxWords, err
}
