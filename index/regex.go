package index

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"

	"ctxfs/backing"
)

// searchRegex narrows the entries down by what they must hold, and matches
// those, the ones indexed last first, until it has enough.
func (r *Reader) searchRegex(ctx context.Context, q Query) ([]Hit, error) {
	re, need, err := compile(q)
	if err != nil {
		return nil, err
	}
	db, err := r.file(ctx)
	if err != nil {
		return nil, err
	}
	expression, err := need.expression(func(piece string) ([]string, bool, error) { return wordsWith(ctx, db, piece) })
	if err != nil {
		return nil, damaged(fmt.Errorf("search: %w", err))
	}
	where, args := conditions(q, facetFilters(q))
	from := "entry e WHERE " + where + " ORDER BY e.id DESC"
	if expression != "" {
		from = "words JOIN entry e ON e.id = words.rowid WHERE words MATCH ? AND " + where + " ORDER BY words.rowid DESC"
		args = append([]any{"(" + expression + ") OR " + quoted(marked)}, args...)
	}
	rows, err := db.QueryContext(ctx, "SELECT "+columns+" FROM "+from, args...)
	if err != nil {
		return nil, damaged(fmt.Errorf("search: %w", err))
	}
	defer rows.Close()
	hits, err := r.matching(ctx, rows, re, q.Limit)
	slices.SortStableFunc(hits, func(a, b Hit) int { return b.Time.Compare(a.Time) })
	return hits, damaged(err)
}

// matching reads the entries of rows and keeps those in which re matches, at
// most limit.
func (r *Reader) matching(ctx context.Context, rows *sql.Rows, re *regexp.Regexp, limit int) ([]Hit, error) {
	var hits []Hit
	for rows.Next() && (limit < 0 || len(hits) < limit) {
		var f found
		if err := rows.Scan(&f.id, &f.path, &f.time, &f.superseded); err != nil {
			return nil, err
		}
		text, err := readWhole(ctx, r.content, f.path)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.path, err)
		}
		if lines := matchingLines(text, re); len(lines) > 0 {
			h, ok, err := r.hit(ctx, f, func([]byte) []Line { return lines })
			if err != nil {
				return nil, err
			}
			if ok {
				hits = append(hits, h)
			}
		}
	}
	return hits, rows.Err()
}

func readWhole(ctx context.Context, src Content, p string) ([]byte, error) {
	c, err := src.Read(ctx, p, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	text := make([]byte, c.Size())
	_, err = readFull(c, text)
	return text, err
}

func readFull(c backing.Content, text []byte) (int, error) {
	if len(text) == 0 {
		return 0, nil
	}
	n, err := c.ReadAt(text, 0)
	if n == len(text) {
		return n, nil
	}
	return n, err
}

// maxWords is how many words may hold a piece before it tells too little.
const maxWords = 400

// wordsWith returns the words that hold piece.
func wordsWith(ctx context.Context, db *sql.DB, piece string) ([]string, bool, error) {
	all, err := column[string](ctx, db, "SELECT word FROM word_part WHERE word_part MATCH ? LIMIT ?", quoted(piece), maxWords+1)
	return all, len(all) <= maxWords, err
}
