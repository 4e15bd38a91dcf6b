package codec

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel is the longest name of an agent or session, in bytes: that of a
// directory in the store.
const maxLabel = 128

// CleanLabel returns s as it may stand as the name of an agent or session in
// a changelog line or in frontmatter: without "]", control characters, line
// breaks, bidi controls and invalid UTF-8, trimmed, at most 128 bytes. It may
// return "". A label says who somebody claims to be; it proves nothing.
func CleanLabel(s string) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == ']' || r == utf8.RuneError || unsafeRune(r) {
			return -1
		}
		return r
	}, s))
	cut := 0
	for i, r := range s {
		if i+utf8.RuneLen(r) > maxLabel {
			break
		}
		cut = i + utf8.RuneLen(r)
	}
	return strings.TrimSpace(s[:cut])
}

// oneLine returns s without anything that could begin another line or
// reorder the text on a terminal; line breaks and tabs become blanks.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unsafeRune(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�")))
}

// unsafeRune reports whether r controls a terminal, a line or the direction
// of text instead of showing something.
func unsafeRune(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff':
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	case r == '\u200e', r == '\u200f', r == '\u061c':
		return true
	}
	return false
}
