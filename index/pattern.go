package index

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// need is what a text must hold: a literal, all of several, one of several,
// or nothing that is known (the zero value).
type need struct {
	literal string
	exact   bool // the literal is there byte by byte, not only but for its case
	all     []need
	any     []need
}

func (n need) nothing() bool { return n.literal == "" && n.all == nil && n.any == nil }

// needs derives what a text must hold so that re can match it.
func needs(re *syntax.Regexp) need {
	switch re.Op {
	case syntax.OpLiteral:
		return need{literal: string(re.Rune), exact: re.Flags&syntax.FoldCase == 0}
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
	exact := true
	end := func() {
		if run.Len() > 0 {
			n.all = append(n.all, need{literal: run.String(), exact: exact})
			run.Reset()
		}
		exact = true
	}
	for _, sub := range subs {
		for sub.Op == syntax.OpCapture {
			sub = sub.Sub[0]
		}
		if sub.Op == syntax.OpLiteral {
			run.WriteString(string(sub.Rune))
			exact = exact && sub.Flags&syntax.FoldCase == 0
			continue
		}
		if r, ok := oneLetter(sub); ok {
			run.WriteRune(r)
			exact = false
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

// hint is the longest text that certainly occurs in a match; "" where none is
// known.
func (n need) hint() string {
	if n.exact {
		return n.literal
	}
	longest := ""
	for _, part := range n.all {
		if h := part.hint(); len(h) > len(longest) {
			longest = h
		}
	}
	return longest
}

// lookup finds words that hold a piece, or begin with it; ok is false where
// they are too many.
type lookup struct {
	holding, beginning func(piece string) (words []string, ok bool, err error)
}

// expression turns n into an expression of FTS5 that every text with a match
// fulfils; "" where nothing narrows it down.
func (n need) expression(lookup lookup) (string, error) {
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

// literal is the expression for a text that must occur as it is. Words that
// are whole in it follow each other in what holds it.
func literal(text string, lookup lookup) (string, error) {
	var all, phrase []string
	var failed error
	end := func() {
		if len(phrase) > 0 {
			all = append(all, anywhere(phrase))
		}
		phrase = nil
	}
	words([]byte(text), func(w word) bool {
		if w.begins && w.ends && !w.cut {
			phrase = append(phrase, w.text)
			return true
		}
		end()
		s, err := piece(w, lookup)
		if s != "" {
			all = append(all, s)
		}
		failed = err
		return err == nil
	})
	end()
	if failed != nil || len(all) == 0 {
		return "", failed
	}
	return "(" + strings.Join(all, " AND ") + ")", nil
}

// anywhere is the expression for words that follow each other, be it in the
// frontmatter.
func anywhere(phrase []string) string {
	return "(" + quoted(strings.Join(phrase, " ")) + " OR " + quoted(frontMark+strings.Join(phrase, " "+frontMark)) + ")"
}

// piece is the expression for a part of a word; "" where it tells too little.
func piece(w word, lookup lookup) (string, error) {
	if w.cut || utf8.RuneCountInString(w.text) < minPiece {
		return "", nil
	}
	find := lookup.holding
	if w.begins {
		find = lookup.beginning
	}
	found, ok, err := find(w.text)
	if err != nil || !ok {
		return "", err
	}
	var all []string
	for _, f := range found {
		if !w.ends || strings.HasSuffix(f, w.text) {
			all = append(all, f, frontMark+f)
		}
	}
	return anyOf(all), nil
}
