package index

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Superseded says which entries a query wants, by whether another entry
// supersedes them.
type Superseded string

const (
	AnySuperseded  Superseded = ""
	NoSuperseded   Superseded = "no"
	OnlySuperseded Superseded = "only"
)

const (
	// DefaultLimit is how many entries a search returns where none is asked for.
	DefaultLimit = 20
	maxQuery     = 4096 // bytes
	maxTerms     = 64
)

// Query says what to look for. Every condition that is given must hold; the
// zero value finds the newest entries.
type Query struct {
	// Words must all occur, in any order: `word`, `"a phrase"`, `prefix*`;
	// `-word` must not occur. Case and accents do not matter.
	Words string
	// Regex is a regular expression in the syntax of Go (RE2, as in rg), which
	// must match within a line. It excludes Words.
	Regex      string
	IgnoreCase bool // of Regex

	Agent, Session, Type string
	Tags                 []string // all of them
	Since, Until         time.Time
	LinksTo              string // path of an entry, from the store's root
	Superseded           Superseded

	Limit int // 0 is DefaultLimit, less is no limit
}

// QueryError is a query that cannot be understood.
type QueryError struct{ Reason, Fix string }

func (e *QueryError) Error() string { return e.Reason + " (" + e.Fix + ")" }

const wordsFix = `write words, "a phrase", prefix* or -word`

func badQuery(format string, a ...any) error {
	return &QueryError{Reason: fmt.Sprintf(format, a...), Fix: wordsFix}
}

// term is one condition of Query.Words: words that follow each other.
type term struct {
	words  []string
	prefix bool // the last one is the beginning of a word
	not    bool
	among  []string // the words that a single prefix stands for; nil: not known
}

// parseWords reads Query.Words.
func parseWords(s string) ([]term, error) {
	if len(s) > maxQuery {
		return nil, badQuery("the query has %d bytes, %d is the most", len(s), maxQuery)
	}
	if !utf8.ValidString(s) {
		return nil, badQuery("the query is not UTF-8")
	}
	var terms []term
	wanted := false
	for rest := strings.TrimSpace(s); rest != ""; rest = strings.TrimSpace(rest) {
		var t term
		var text string
		if after, ok := strings.CutPrefix(rest, "-"); ok {
			t.not, rest = true, after
		}
		if after, ok := strings.CutPrefix(rest, `"`); ok {
			if text, rest, ok = strings.Cut(after, `"`); !ok {
				return nil, badQuery(`the query has a " without its end`)
			}
			if after, ok := strings.CutPrefix(rest, "*"); ok {
				t.prefix, rest = true, after
			}
		} else {
			n := strings.IndexAny(rest, " \t\r\n\"")
			if n < 0 {
				n = len(rest)
			}
			text, rest = rest[:n], rest[n:]
			text, t.prefix = strings.CutSuffix(text, "*")
		}
		words([]byte(text), func(w word) bool { t.words = append(t.words, w.text); return true })
		if len(t.words) == 0 {
			continue // punctuation alone says nothing
		}
		wanted = wanted || !t.not
		if terms = append(terms, t); len(terms) > maxTerms {
			return nil, badQuery("the query has more than %d words", maxTerms)
		}
	}
	if !wanted {
		return nil, badQuery("the query holds no word to look for")
	}
	return terms, nil
}
