package codec

import (
	"strings"
	"time"
	"unicode/utf8"
)

// maxSummary is the most characters of the text that ctxfs writes into a
// changelog line by itself.
const maxSummary = 200

// maxText is the most characters of a text that a caller or writer gives.
const maxText = 2000

// Author says who changes an entry, and when.
type Author struct {
	Agent string    // a label, see CleanLabel; "" is written as "unknown"
	Time  time.Time // written in UTC, in whole seconds
	Over  string    // the agent of a concurrent change that this one was made without knowing; "" if there was none
}

// line returns a changelog line that says text, at most limit characters of
// it, without a line end. It is one line whatever the text holds.
func (a Author) line(text string, limit int) string {
	over := a.over()
	text = shorten(oneLine(text), limit-utf8.RuneCountInString(over))
	agent := CleanLabel(a.Agent)
	if agent == "" {
		agent = "unknown"
	}
	return strings.TrimRight("- "+a.Time.UTC().Format(stampLayout)+" ["+agent+"]: "+text+over, " ")
}

func (a Author) over() string {
	if over := CleanLabel(a.Over); over != "" {
		return " (over a concurrent change by " + over + ")"
	}
	return ""
}

// shorten returns s in at most n characters, with "…" where it was cut.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(firstRunes(s, n-1), " ") + "…"
}
