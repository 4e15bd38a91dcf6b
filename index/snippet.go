package index

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"ctxfs/codec"
)

// Line is a line of an entry, or a part of one, with what was found in it.
type Line struct {
	N     int      // from 1
	Text  string   // without its end; "…" where it was cut
	Marks [][2]int // of Text, in bytes: from and to; in order, apart
}

const (
	maxLine  = 200 // bytes of a line that are shown
	maxLines = 3   // lines of an entry that are shown for words
	// MaxMatches is how many matching lines of one entry a search returns.
	MaxMatches = 50
)

// snippet returns the lines of an entry that hold most of terms; of a query
// without words, none.
func snippet(text []byte, terms []term) []Line {
	if len(terms) == 0 {
		return nil
	}
	from := 0
	if e, err := codec.Parse(text); err == nil {
		from = e.Body
	}
	var best []scored
	in := marker{terms: terms}
	n := bytes.Count(text[:from], []byte("\n"))
	for line := range bytes.Lines(text[from:]) {
		n++
		marks, score := in.marks(line)
		if score > 0 {
			best = append(best, scored{lineOf(n, line, marks), score})
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return b.score - a.score })
	best = best[:min(len(best), maxLines)]
	slices.SortFunc(best, func(a, b scored) int { return a.N - b.N })
	var lines []Line
	for _, s := range best {
		lines = append(lines, s.Line)
	}
	return lines
}

type scored struct {
	Line
	score int // how many different terms it holds
}

// marker finds terms in lines.
type marker struct {
	terms []term
	words []word // of the line, its memory used again
}

// as is the word b, or "" where no term has it.
func (m *marker) as(b []byte) string {
	for _, t := range m.terms {
		for i, w := range t.words {
			if string(b) == w || t.prefix && i == len(t.words)-1 && bytes.HasPrefix(b, []byte(w)) {
				return string(b)
			}
		}
	}
	return ""
}

func (m *marker) marks(line []byte) (marks [][2]int, score int) {
	m.words = m.words[:0]
	wordsAs(line, m.as, func(w word) bool { m.words = append(m.words, w); return true })
	for _, t := range m.terms {
		if t.not {
			continue
		}
		hit := false
		for i := range m.words {
			if t.at(m.words[i:]) {
				marks = append(marks, [2]int{m.words[i].from, m.words[i+len(t.words)-1].to})
				hit = true
			}
		}
		if hit {
			score++
		}
	}
	return apart(marks), score
}

// at reports whether all begins with t.
func (t term) at(all []word) bool {
	if len(all) < len(t.words) {
		return false
	}
	for i, w := range t.words {
		last := i == len(t.words)-1
		if all[i].text != w && !(last && t.prefix && len(all[i].text) > len(w) && all[i].text[:len(w)] == w) {
			return false
		}
	}
	return true
}

// apart sorts marks and joins those that overlap.
func apart(marks [][2]int) [][2]int {
	slices.SortFunc(marks, func(a, b [2]int) int { return a[0] - b[0] })
	var out [][2]int
	for _, m := range marks {
		if n := len(out); n > 0 && m[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], m[1])
			continue
		}
		out = append(out, m)
	}
	return out
}

// lineOf cuts a long line around its first mark.
func lineOf(n int, line []byte, marks [][2]int) Line {
	line = bytes.TrimRight(line, "\r\n")
	from, to := 0, len(line)
	if to > maxLine {
		if len(marks) > 0 {
			from = max(0, marks[0][0]-maxLine/4)
		}
		to = min(to, from+maxLine)
		for from > 0 && !utf8.RuneStart(line[from]) {
			from--
		}
		for to < len(line) && !utf8.RuneStart(line[to]) {
			to--
		}
	}
	l := Line{N: n, Text: string(line[from:to])}
	shift := -from
	if from > 0 {
		l.Text = "…" + l.Text
		shift += len("…")
	}
	end := len(l.Text)
	if to < len(line) {
		l.Text += "…"
	}
	for _, m := range marks {
		a, b := m[0]+shift, min(m[1]+shift, end)
		if a >= 0 && a < b {
			l.Marks = append(l.Marks, [2]int{a, b})
		}
	}
	return l
}
