package index

import (
	"context"
	"database/sql"
	"strings"
)

// common is from how many entries on a word tells nothing: where others are
// rarer it does not count for the rank. Entries that hold only common words
// are not ranked against each other: those of the last 2,000 with the words
// in their names, tags or titles come first, then those indexed last.
const common = 1000

// columns of found, from entry e.
const columns = `e.id, e.dir || '/' || e.name, e.time, ` + superseded

const superseded = "EXISTS (SELECT 1 FROM facet s WHERE s.kind = 6 AND s.value = e.link)"

// newest finds the entries that fulfil the conditions of q, newest first.
func newest(ctx context.Context, db *sql.DB, q Query) ([]found, error) {
	all := facetFilters(q)
	from, args := "entry e", []any(nil)
	for i, f := range all {
		n, err := countUpTo(ctx, db, "SELECT 1 FROM facet WHERE kind = ? AND value = ?", f.kind, f.value)
		if err != nil {
			return nil, err
		}
		if n <= common {
			// Few: from them to their entries, not the other way round.
			from = "(SELECT id AS of FROM facet WHERE kind = ? AND value = ?) CROSS JOIN entry e ON e.id = of"
			args, all = []any{f.kind, f.value}, append(all[:i:i], all[i+1:]...)
			break
		}
	}
	where, more := conditions(q, all)
	return rowsOf(ctx, db, "SELECT "+columns+" FROM "+from+" WHERE "+where+" ORDER BY e.time DESC, e.link LIMIT ?",
		append(append(args, more...), q.Limit)...)
}

// best finds the entries that hold terms and fulfil the conditions of q, the
// best first.
func best(ctx context.Context, db *sql.DB, q Query, terms []term) ([]found, error) {
	var rare []term
	for _, t := range terms {
		if t.not {
			continue
		}
		n, err := countUpTo(ctx, db, "SELECT 1 FROM words WHERE words MATCH ?", match(inText, []term{t}))
		if err != nil {
			return nil, err
		}
		if n <= common {
			rare = append(rare, t)
		}
	}
	where, args := conditions(q, facetFilters(q))
	if len(rare) == 0 {
		return commonest(ctx, db, q, terms, where, args)
	}
	all := append([]any{match(inText, rare), match(inText, terms)}, args...)
	return rowsOf(ctx, db, "SELECT "+columns+` FROM words JOIN entry e ON e.id = words.rowid
		WHERE words MATCH ? AND words.rowid IN (SELECT rowid FROM words WHERE words MATCH ?) AND `+where+`
		ORDER BY bm25(words, 5.0, 1.0, 0.0), e.time DESC LIMIT ?`, append(all, q.Limit)...)
}

// commonest is best where all terms are common.
func commonest(ctx context.Context, db *sql.DB, q Query, terms []term, where string, args []any) ([]found, error) {
	var all []found
	seen := map[int64]bool{}
	for _, tier := range []struct{ in, among string }{
		// Words that are common in texts may be rare in titles, and all
		// entries would be gone through to find that out.
		{inHead, " AND words.rowid > (SELECT max(id) FROM entry) - 2000"},
		{inText, ""},
	} {
		rows, err := rowsOf(ctx, db, "SELECT "+columns+` FROM words JOIN entry e ON e.id = words.rowid
			WHERE words MATCH ? AND `+where+tier.among+` ORDER BY words.rowid DESC LIMIT ?`,
			append(append([]any{match(tier.in, terms)}, args...), q.Limit)...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if !seen[r.id] && (q.Limit < 0 || len(all) < q.Limit) {
				seen[r.id] = true
				all = append(all, r)
			}
		}
	}
	return all, nil
}

// countUpTo counts rows, but no further than just over common.
func countUpTo(ctx context.Context, db *sql.DB, query string, args ...any) (n int, err error) {
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM ("+query+" LIMIT ?)", append(args, common+1)...).Scan(&n)
	return n, err
}

func rowsOf(ctx context.Context, db *sql.DB, query string, args ...any) ([]found, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []found
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.id, &f.path, &f.time, &f.superseded); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, rows.Err()
}

// facetFilters are the conditions of q that facets answer.
func facetFilters(q Query) []facet {
	var all []facet
	is := func(k Kind, value string) {
		if value != "" {
			all = append(all, facet{k, Escape(value)})
		}
	}
	is(BySession, q.Session)
	for _, tag := range q.Tags {
		is(ByTag, tag)
	}
	is(ByAgent, q.Agent)
	is(ByType, q.Type)
	if q.LinksTo != "" {
		all = append(all, facet{ByBacklinks, LinkName(q.LinksTo)})
	}
	return all
}

// conditions is what entry e must fulfil: facets, and the rest of q.
func conditions(q Query, facets []facet) (where string, args []any) {
	all := []string{"1"}
	for _, f := range facets {
		all = append(all, "EXISTS (SELECT 1 FROM facet f WHERE f.kind = ? AND f.value = ? AND f.link = e.link)")
		args = append(args, f.kind, f.value)
	}
	if !q.Since.IsZero() {
		all, args = append(all, "e.time >= ?"), append(args, q.Since.Unix())
	}
	if !q.Until.IsZero() {
		all, args = append(all, "e.time <= ?"), append(args, q.Until.Unix())
	}
	switch q.Superseded {
	case OnlySuperseded:
		all = append(all, superseded)
	case NoSuperseded:
		all = append(all, "NOT "+superseded)
	}
	return strings.Join(all, " AND "), args
}
