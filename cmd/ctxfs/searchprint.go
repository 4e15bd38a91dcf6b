package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ctxfs/index"
)

// hitLine is an entry of `search --json`.
type hitLine struct {
	Path       string      `json:"path"`
	Agent      string      `json:"agent"`
	Session    string      `json:"session,omitempty"`
	Type       string      `json:"type"`
	Title      string      `json:"title"`
	Tags       []string    `json:"tags"`
	Time       time.Time   `json:"time"`
	Superseded bool        `json:"superseded"`
	Lines      []foundLine `json:"lines"`
}

// foundLine is a line of an entry: its number, its text, and what of that was
// found, as pairs of offsets in bytes.
type foundLine struct {
	Line  int      `json:"line"`
	Text  string   `json:"text"`
	Marks [][2]int `json:"marks"`
}

func hitJSON(h index.Hit) hitLine {
	l := hitLine{h.Path, h.Agent, h.Session, h.Type, h.Title, h.Tags, h.Time, h.Superseded, []foundLine{}}
	if l.Tags == nil {
		l.Tags = []string{}
	}
	for _, line := range h.Lines {
		l.Lines = append(l.Lines, foundLine{line.N, line.Text, line.Marks})
	}
	return l
}

// printHit prints an entry for people: where it is, what it is, and the lines
// that were found.
func printHit(w io.Writer, h index.Hit, colored bool) error {
	var b strings.Builder
	b.WriteString(paint(colored, bold, printable(h.Path)))
	if h.Type != "" {
		b.WriteString("  " + printable(h.Type))
	}
	if len(h.Tags) > 0 {
		b.WriteString("  [" + printable(strings.Join(h.Tags, ", ")) + "]")
	}
	if h.Superseded {
		b.WriteString("  (superseded)")
	}
	b.WriteByte('\n')
	if len(h.Lines) == 0 && h.Title != "" {
		b.WriteString("    " + short(h.Title, 100) + "\n")
	}
	for _, l := range h.Lines {
		fmt.Fprintf(&b, "%s: %s\n", paint(colored, green, fmt.Sprintf("%5d", l.N)), marked(l, colored))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// marked is the text of a line, with what was found in colour.
func marked(l index.Line, colored bool) string {
	var b strings.Builder
	at := 0
	for _, m := range l.Marks {
		b.WriteString(harmless(l.Text[at:m[0]]))
		b.WriteString(paint(colored, match, harmless(l.Text[m[0]:m[1]])))
		at = m[1]
	}
	b.WriteString(harmless(l.Text[at:]))
	return b.String()
}

var age = regexp.MustCompile(`^(\d{1,6})([mhdw])$`)

// moment reads a time: RFC 3339, a date, whose end it is where end is set, or
// an age.
func moment(s string, now time.Time, end bool) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if m := age.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return time.Time{}, usageError{err}
		}
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[m[2]]
		return now.Add(-time.Duration(n) * unit), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "20060102T150405"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse("2006-01-02", s); err == nil {
		if end {
			t = t.Add(24*time.Hour - time.Second)
		}
		return t, nil
	}
	return time.Time{}, usageError{fmt.Errorf("%q is no time; write 2026-02-21, 2026-02-21T14:30:22Z or an age as 90m, 12h, 7d, 2w", s)}
}
