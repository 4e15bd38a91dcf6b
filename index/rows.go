package index

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
)

// common is from how many entries on a word tells nothing: where others are
// rarer it does not count for the rank. Entries that hold only common words
// are not ranked against each other: those with all the words in their names,
// tags or titles come first, then the newest.
const common = 500

// columns of found, from entry e.
const columns = `e.id, e.dir || '/' || e.name, e.time, ` + superseded

const superseded = "EXISTS (SELECT 1 FROM facet s WHERE s.kind = 6 AND s.value = e.link)"

// few is for how many superseded entries each of them is asked for, instead of
// asking each entry that was found whether it is one.
const few = 200

// search is one question to the file.
type search struct {
	q      Query
	db     *sql.DB
	facets []facet
	terms  []term
}

// newest finds entries by the conditions of q alone, newest first.
func (s search) newest(ctx context.Context) ([]found, error) {
	if len(s.facets) == 0 {
		return s.rows(ctx, "entry e", "e.id", "")
	}
	return s.rows(ctx, fromHeads, "heads.rowid", "heads", expression(nil, s.facets))
}

// rows are those of query.
func (s search) rows(ctx context.Context, from, id, match string, expression ...string) ([]found, error) {
	rows, err := s.query(ctx, from, id, match, expression...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return scan(rows, math.MaxInt)
}

// query asks for a table and entry e beside it, newest first. Where match is
// not "", that table fulfils the expression.
func (s search) query(ctx context.Context, from, id, match string, expression ...string) (*sql.Rows, error) {
	where, args, err := s.conditions(ctx, id)
	if err != nil {
		return nil, err
	}
	if match != "" {
		where, args = match+" MATCH ? AND "+where, append([]any{expression[0]}, args...)
	}
	return s.db.QueryContext(ctx, "SELECT "+columns+" FROM "+from+" WHERE "+where+" ORDER BY "+id+" DESC LIMIT ?", append(args, s.q.Limit)...)
}

// scan returns the next rows, at most most.
func scan(rows *sql.Rows, most int) ([]found, error) {
	var all []found
	for len(all) < most && rows.Next() {
		var f found
		if err := rows.Scan(&f.id, &f.path, &f.time, &f.superseded); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, rows.Err()
}

// conditions are those that no expression can say: times, and what supersedes.
func (s search) conditions(ctx context.Context, id string) (where string, args []any, err error) {
	from, to := s.q.between()
	where, args = id+" BETWEEN ? AND ?", []any{from, to}
	switch s.q.Superseded {
	case NoSuperseded:
		where += " AND NOT " + superseded
	case OnlySuperseded:
		n, err := countUpTo(ctx, s.db, few, "SELECT 1 FROM facet WHERE kind = 6")
		if err != nil {
			return "", nil, err
		}
		if n <= few {
			where += " AND " + id + " IN (SELECT o.id FROM facet s JOIN entry o ON o.link = s.value WHERE s.kind = 6)"
		} else {
			where += " AND " + superseded
		}
	}
	return where, args, nil
}

// countUpTo counts rows, but no further than just over most.
func countUpTo(ctx context.Context, db *sql.DB, most int, query string, args ...any) (n int, err error) {
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM ("+query+" LIMIT ?)", append(args, most+1)...).Scan(&n)
	return n, err
}

const (
	fromWords = "words CROSS JOIN entry e ON e.id = words.rowid"
	fromHeads = "heads CROSS JOIN entry e ON e.id = heads.rowid"
)

// best finds the entries that hold the terms and fulfil the conditions of q,
// the best first.
func (s search) best(ctx context.Context) ([]found, error) {
	if err := expand(ctx, s.db, s.terms); err != nil {
		return nil, err
	}
	var rare []term
	for _, t := range s.terms {
		if t.not {
			continue
		}
		is, err := s.isRare(ctx, t)
		if err != nil {
			return nil, err
		}
		if is {
			rare = append(rare, t)
		}
	}
	if len(rare) == 0 {
		return s.commonest(ctx)
	}
	// Few, as one of the terms is rare: all of them are taken, and put in order
	// by the rank of the rare terms alone.
	all := s
	all.q.Limit = -1
	rows, err := all.rows(ctx, fromWords, "words.rowid", "words", expression(s.terms, s.facets))
	if err != nil {
		return nil, err
	}
	if len(rows) > 1 {
		ranks, err := s.ranks(ctx, rare)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(rows, func(a, b found) int {
			return cmp.Compare(ranks[a.id], ranks[b.id])
		})
	}
	if s.q.Limit >= 0 {
		rows = rows[:min(len(rows), s.q.Limit)]
	}
	return rows, nil
}

// isRare reports whether at most common entries hold t. A phrase is taken to be
// as rare as its rarest word: to count the entries that hold one of common
// words, all that hold the words would be gone through.
func (s search) isRare(ctx context.Context, t term) (bool, error) {
	all := []string{t.expression()}
	if len(t.words) > 1 {
		all = nil
		for i, w := range t.words {
			if i < len(t.words)-1 || !t.prefix {
				all = append(all, quoted(w))
			}
		}
	}
	for _, e := range all {
		n, err := countUpTo(ctx, s.db, common, "SELECT 1 FROM words WHERE words MATCH ?", e)
		if err != nil || n <= common {
			return err == nil, err
		}
	}
	return false, nil
}

// ranks are those of the entries that hold the terms; the least is the best.
func (s search) ranks(ctx context.Context, terms []term) (map[int64]float64, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT rowid, bm25(words, 5.0, 1.0, 0.0) FROM words WHERE words MATCH ?", expression(terms, nil))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ranks := map[int64]float64{}
	for rows.Next() {
		var id int64
		var rank float64
		if err := rows.Scan(&id, &rank); err != nil {
			return nil, err
		}
		ranks[id] = rank
	}
	return ranks, rows.Err()
}

// commonest is best where all terms are common.
func (s search) commonest(ctx context.Context) ([]found, error) {
	full := expression(s.terms, s.facets)
	heads, err := s.rows(ctx, fromHeads, "heads.rowid", "heads", full)
	if err != nil {
		return nil, err
	}
	without := slices.ContainsFunc(s.terms, func(t term) bool { return t.not })
	var all []found
	seen := map[int64]bool{}
	for _, f := range heads {
		if without { // it may stand in the text
			n, err := countUpTo(ctx, s.db, 1, "SELECT 1 FROM words WHERE words MATCH ? AND rowid = ?", full, f.id)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				continue
			}
		}
		seen[f.id] = true
		all = append(all, f)
	}
	if s.q.Limit >= 0 && len(all) >= s.q.Limit {
		return all, nil
	}
	rows, err := s.rows(ctx, fromWords, "words.rowid", "words", full)
	for _, f := range rows {
		if !seen[f.id] && (s.q.Limit < 0 || len(all) < s.q.Limit) {
			all = append(all, f)
		}
	}
	return all, err
}
