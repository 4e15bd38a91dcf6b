package index

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"time"
)

// The expressions of FTS5 are made of words as fold leaves them and of those
// that begin with marks, so that nothing in them can be syntax.

func quoted(s string) string { return `"` + s + `"` }

// none is an expression that no entry fulfils: the mark of what none holds.
const none = "\ue001none"

// anyOf is an expression for one of several words.
func anyOf(words []string) string {
	if len(words) == 0 {
		return quoted(none)
	}
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = quoted(w)
	}
	return "(" + strings.Join(all, " OR ") + ")"
}

func (t term) expression() string {
	switch {
	case t.among != nil:
		return anyOf(t.among)
	case t.prefix:
		return quoted(strings.Join(t.words, " ")) + " *"
	}
	return quoted(strings.Join(t.words, " "))
}

// expression is one that holds where all terms and facets do. At least one of
// them must be wanted.
func expression(terms []term, facets []facet) string {
	var with, without []string
	for _, t := range terms {
		if t.not {
			without = append(without, t.expression())
		} else {
			with = append(with, t.expression())
		}
	}
	for _, f := range facets {
		with = append(with, quoted(f.word()))
	}
	s := "(" + strings.Join(with, " AND ") + ")"
	if len(without) > 0 {
		s += " NOT (" + strings.Join(without, " OR ") + ")"
	}
	return s
}

// maxAmong is for how many words a prefix is replaced by them. That of more
// costs FTS5 a merge of all that they stand in.
const maxAmong = 50

// expand replaces prefixes by the words that begin so, where they are few.
func expand(ctx context.Context, db *sql.DB, terms []term) error {
	for i := range terms {
		t := &terms[i]
		if !t.prefix || len(t.words) != 1 {
			continue
		}
		among, ok, err := wordsFrom(ctx, db, t.words[0], maxAmong)
		if err != nil {
			return err
		}
		if ok {
			t.among = append([]string{}, among...)
		}
	}
	return nil
}

// wordsFrom returns the words that begin with a prefix, ok false where they
// are more than most.
func wordsFrom(ctx context.Context, db *sql.DB, prefix string, most int) (words []string, ok bool, err error) {
	words, err = column[string](ctx, db, "SELECT word FROM word WHERE word >= ? AND word < ? LIMIT ?", prefix, prefix+"\U0010ffff", most+1)
	return words, len(words) <= most, err
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
	is(ByAgent, q.Agent)
	is(ByType, q.Type)
	for _, tag := range q.Tags {
		is(ByTag, tag)
	}
	if q.LinksTo != "" {
		all = append(all, facet{ByBacklinks, LinkName(q.LinksTo)})
	}
	return all
}

// between is which entries are of the time that q asks for, by their numbers,
// both included.
func (q Query) between() (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if !q.Since.IsZero() {
		from = firstID(bounds(q.Since.Unix()))
	}
	if !q.Until.IsZero() {
		to = firstID(bounds(q.Until.Unix())+1) - 1
	}
	return from, to
}

// bounds keeps a time near those that names of entries can have.
func bounds(unix int64) int64 {
	return min(max(unix, time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()), time.Date(10001, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
}
