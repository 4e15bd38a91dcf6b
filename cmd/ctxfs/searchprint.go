package main

import (
	"fmt"
	"io"
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
