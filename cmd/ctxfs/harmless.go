package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// What ctxfs prints may come from anybody: names, environments, contents. In
// tables, messages and JSON nothing of it controls a terminal. A content itself
// (`var get`, `results load`) goes to programs byte for byte, and to a terminal
// without its control characters.

// harmless is printable for a line of text, in which tabs may stay.
func harmless(s string) string {
	parts := strings.Split(s, "\t")
	for i, p := range parts {
		parts[i] = printable(p)
	}
	return strings.Join(parts, "\t")
}

// harmlessLines is harmless for several lines.
func harmlessLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = harmless(line)
	}
	return strings.Join(lines, "\n")
}

// contentOut is where a content is written: w, which a terminal gets through
// a filter. It is closed, w is not.
func contentOut(w io.Writer) io.WriteCloser {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		return &filter{w: w}
	}
	return unfiltered{w}
}

type unfiltered struct{ io.Writer }

func (unfiltered) Close() error { return nil }

// filter passes text on as harmlessLines.
type filter struct {
	w    io.Writer
	rest []byte // the begin of a character
}

func (f *filter) Write(p []byte) (int, error) {
	text := append(f.rest, p...)
	cut := len(text)
	for i := max(0, cut-utf8.UTFMax+1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			cut = i
			break
		}
	}
	f.rest = append([]byte(nil), text[cut:]...)
	if _, err := io.WriteString(f.w, harmlessLines(string(text[:cut]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *filter) Close() error {
	_, err := io.WriteString(f.w, harmlessLines(string(f.rest)))
	f.rest = nil
	return err
}
