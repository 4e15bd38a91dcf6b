package index

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is the longest word that is kept whole, in bytes.
const maxWord = 128

// word is a word of a text: folded, and where it stands in bytes.
type word struct {
	text     string
	from, to int
	// whole at its beginning and end: what stands before and after it in the
	// text, whatever that is part of, cannot belong to it.
	begins, ends bool
	cut          bool // longer than maxWord
}

// words calls yield for each word of text, in order, until it returns false.
func words(text []byte, yield func(word) bool) {
	wordsAs(text, func(b []byte) string { return string(b) }, yield)
}

// wordsAs is words for who needs few of them as strings: as makes one of what a
// word is folded to.
func wordsAs(text []byte, as func([]byte) string, yield func(word) bool) {
	var w word
	var b []byte
	open, broken := false, false // in a word; something stood before it
	flush := func(ends bool) bool {
		if !open {
			return true
		}
		open = false
		if len(b) == 0 {
			return true
		}
		w.text, w.ends = as(b), ends
		return yield(w)
	}
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		folded, class := fold(r)
		if class == separator || class == alone {
			if !flush(true) {
				return
			}
			broken = true
		}
		if class == alone && !yield(word{text: folded, from: i, to: i + size, begins: true, ends: true}) {
			return
		}
		if class == part {
			if !open {
				open, b = true, b[:0]
				w = word{from: i, begins: broken}
			}
			if len(b)+len(folded) <= maxWord && !w.cut {
				b = append(b, folded...)
			} else {
				w.cut = true
			}
			w.to = i + size
		}
		i += size
	}
	flush(false)
}

type class uint8

const (
	separator class = iota
	part            // of a word
	alone           // a word of its own
)

// fold maps a character to what stands for it in the index. It looks at
// nothing but that character, so that what is part of a text is part of the
// folded text too.
func fold(r rune) (string, class) {
	if r < utf8.RuneSelf {
		return asciiFold[r], asciiClass[r]
	}
	if f, ok := foldCache.Load(r); ok {
		return f.(folded).text, f.(folded).class
	}
	text, c := foldSlow(r)
	foldCache.Store(r, folded{text, c})
	return text, c
}

type folded struct {
	text  string
	class class
}

// foldCache holds what was folded before, by rune: at most as much as there
// are letters in Unicode.
var foldCache sync.Map

var (
	asciiFold  [utf8.RuneSelf]string
	asciiClass [utf8.RuneSelf]class
)

func init() {
	for r := range rune(utf8.RuneSelf) {
		asciiFold[r], asciiClass[r] = foldSlow(r)
	}
}

func foldSlow(r rune) (string, class) {
	switch {
	case r == utf8.RuneError:
		return "", separator
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r):
		return "", part // an accent by itself
	case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.Mc, r):
		return "", separator
	}
	var b strings.Builder
	for _, d := range norm.NFKD.String(string(smallest(r))) {
		d = unicode.ToLower(smallest(d))
		if unicode.IsLetter(d) || unicode.IsNumber(d) || unicode.Is(unicode.Mc, d) {
			b.WriteRune(d)
		}
	}
	if b.Len() == 0 {
		return "", separator
	}
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
		return b.String(), alone
	}
	return b.String(), part
}

// smallest is the same for all letters that differ only in case.
func smallest(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if unicode.IsLetter(f) { // an accent is a case of the Greek iota
			least = min(least, f)
		}
	}
	return least
}
