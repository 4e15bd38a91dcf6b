package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"ctxfs/codec"
)

// printable is s as it may stand in a table: what would control a terminal,
// or turn the direction of its text, is written as an escape.
func printable(s string) string {
	if !strings.ContainsFunc(s, codec.Unprintable) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case codec.Unprintable(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// short is the first n characters of s on one line, with "…" where it was
// cut.
func short(s string, n int) string {
	s = printable(strings.Join(strings.Fields(s), " "))
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// size is a number of bytes as people read it.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprint(n)
	}
	f, unit := float64(n), 0
	for f /= 1024; f >= 1023.95 && unit < len(units)-1; unit++ {
		f /= 1024
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f%c", f, units[unit])
	}
	return fmt.Sprintf("%.0f%c", f, units[unit])
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// printJSON writes v as one line.
func printJSON(w io.Writer, v any) error {
	line, err := marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, codec.HarmlessJSON(string(line)))
	return err
}

// tableRows is how many rows of a table are aligned together, so that a long
// one needs no memory.
const tableRows = 1000

// table writes rows of cells in columns.
type table struct {
	w    *tabwriter.Writer
	rows int
	err  error
}

func newTable(w io.Writer, head ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	t.row(head...)
	return t
}

// row adds cells, printable whatever they hold.
func (t *table) row(cells ...string) {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1] // no blanks at the end of a line
	}
	for i, cell := range cells {
		cells[i] = printable(cell)
	}
	if _, err := fmt.Fprintln(t.w, strings.Join(cells, "\t")); err != nil && t.err == nil {
		t.err = err
	}
	if t.rows++; t.rows%tableRows == 0 {
		t.flush()
	}
}

func (t *table) flush() error {
	if err := t.w.Flush(); err != nil && t.err == nil {
		t.err = err
	}
	return t.err
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
