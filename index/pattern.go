package index

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// compile returns the expression of q, anchored at lines, and what a text must
// hold for it to match.
func compile(q Query) (*regexp.Regexp, need, error) {
	if len(q.Regex) > maxQuery {
		return nil, need{}, &QueryError{fmt.Sprintf("the expression has %d bytes, %d is the most", len(q.Regex), maxQuery), "shorten it"}
	}
	flags := syntax.Perl &^ syntax.OneLine // ^ and $ are the ends of a line
	prefix := "(?m)"
	if q.IgnoreCase {
		flags |= syntax.FoldCase
		prefix = "(?mi)"
	}
	tree, err := syntax.Parse(q.Regex, flags)
	var re *regexp.Regexp
	if err == nil {
		re, err = regexp.Compile(prefix + "(?:" + q.Regex + ")")
	}
	if err != nil {
		return nil, need{}, &QueryError{"the expression cannot be read: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			"write it as for rg or Go; \\Q...\\E takes text as it is"}
	}
	return re, needs(tree.Simplify()), nil
}

// need is what a text must hold: a literal, all of several, one of several,
// or nothing that is known (the zero value).
type need struct {
	literal string
	all     []need
	any     []need
}

func (n need) nothing() bool { return n.literal == "" && n.all == nil && n.any == nil }

// needs derives what a text must hold so that re can match it.
func needs(re *syntax.Regexp) need {
	switch re.Op {
	case syntax.OpLiteral:
		return need{literal: string(re.Rune)}
	case syntax.OpCapture, syntax.OpPlus:
		return needs(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needs(re.Sub[0])
		}
	case syntax.OpConcat:
		return needAll(re.Sub)
	case syntax.OpAlternate:
		return needAny(re.Sub)
	}
	return need{}
}

// needAll joins neighbours whose text is certain to one longer literal.
func needAll(subs []*syntax.Regexp) need {
	var n need
	var run strings.Builder
	end := func() {
		if run.Len() > 0 {
			n.all = append(n.all, need{literal: run.String()})
			run.Reset()
		}
	}
	for _, sub := range subs {
		for sub.Op == syntax.OpCapture {
			sub = sub.Sub[0]
		}
		if sub.Op == syntax.OpLiteral {
			run.WriteString(string(sub.Rune))
			continue
		}
		if r, ok := oneLetter(sub); ok {
			run.WriteRune(r)
			continue
		}
		if s := needs(sub); !s.nothing() {
			end()
			n.all = append(n.all, s)
			continue
		}
		end()
	}
	end()
	return n
}

func needAny(subs []*syntax.Regexp) need {
	var n need
	for _, sub := range subs {
		s := needs(sub)
		if s.nothing() {
			return need{}
		}
		n.any = append(n.any, s)
	}
	return n
}

// oneLetter reports whether a class holds one letter in its cases only, as
// [Aa] does, which the index does not tell apart.
func oneLetter(re *syntax.Regexp) (rune, bool) {
	if re.Op != syntax.OpCharClass || len(re.Rune) == 0 || len(re.Rune) > 8 {
		return 0, false
	}
	first := smallest(re.Rune[0])
	for i := 0; i < len(re.Rune); i += 2 {
		if re.Rune[i] != re.Rune[i+1] || smallest(re.Rune[i]) != first {
			return 0, false
		}
	}
	return re.Rune[0], true
}

// expression turns n into an expression of FTS5 that every text with a match
// fulfils; "" where nothing narrows it down. lookup returns the words that
// hold a piece, ok false where they are too many.
func (n need) expression(lookup func(piece string) (words []string, ok bool, err error)) (string, error) {
	join := func(parts []need, op string, must bool) (string, error) {
		var all []string
		for _, p := range parts {
			s, err := p.expression(lookup)
			if err != nil {
				return "", err
			}
			if s != "" {
				all = append(all, s)
			} else if must {
				return "", nil
			}
		}
		if len(all) == 0 {
			return "", nil
		}
		return "(" + strings.Join(all, op) + ")", nil
	}
	switch {
	case n.all != nil:
		return join(n.all, " AND ", false)
	case n.any != nil:
		return join(n.any, " OR ", true)
	case n.literal != "":
		return literal(n.literal, lookup)
	}
	return "", nil
}

// minPiece is the least length of a part of a word by which words are found,
// in characters.
const minPiece = 3

// literal is expression for a text that must occur as it is.
func literal(text string, lookup func(string) ([]string, bool, error)) (string, error) {
	var all []string
	var failed error
	words([]byte(text), func(w word) bool {
		s, err := piece(w, lookup)
		if failed = err; err != nil {
			return false
		}
		if s != "" {
			all = append(all, s)
		}
		return true
	})
	if failed != nil || len(all) == 0 {
		return "", failed
	}
	return "(" + strings.Join(all, " AND ") + ")", nil
}

// none is an expression that no text fulfils: the mark of what no text holds.
const none = "\ue001none"

func piece(w word, lookup func(string) ([]string, bool, error)) (string, error) {
	long := utf8.RuneCountInString(w.text) >= minPiece
	switch {
	case w.cut:
		return "", nil // the marked entries alone cannot be told apart by it
	case w.begins && w.ends:
		return quoted(w.text), nil
	case w.begins && long:
		return quoted(w.text) + " *", nil
	case !long:
		return "", nil
	}
	found, ok, err := lookup(w.text)
	if err != nil || !ok {
		return "", err
	}
	var all []string
	for _, f := range found {
		if !w.ends || strings.HasSuffix(f, w.text) {
			all = append(all, quoted(f))
		}
	}
	if len(all) == 0 {
		return quoted(none), nil
	}
	return "(" + strings.Join(all, " OR ") + ")", nil
}
