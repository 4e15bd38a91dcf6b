package codec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Unprintable reports whether r would control a terminal, break a line, turn
// the direction of its text or be invisible in it.
func Unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// HarmlessJSON returns the JSON text with every character that is
// [Unprintable] escaped. Outside of strings there are none but blanks, which
// stay, so that it means the same.
func HarmlessJSON(text string) string {
	if !strings.ContainsFunc(text, Unprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\r':
			b.WriteByte(' ')
			continue
		case r == '\n' || r == '\t' || !Unprintable(r):
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}
