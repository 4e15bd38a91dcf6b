package codec

import (
	"strings"
	"time"
)

// editAge is how far a changelog line's time must lie from the save's for the
// line to count as an edited old one. Two programs that read an entry in the
// same second, and write it one after the other, leave lines that differ only
// in their text; neither may go.
const editAge = 10 * time.Second

// indexLines returns for each text the places where it stands in lines, from
// 1, in order.
func indexLines(lines []string) map[string][]int {
	at := make(map[string][]int, len(lines))
	for i, line := range lines {
		at[line] = append(at[line], i+1)
	}
	return at
}

// sorter goes through the lines below the heading of new and tells lines of
// old, lines that the writer added, and text that is body.
type sorter struct {
	*merge
	unmatched map[string][]int // lines of old that new was not seen to have
	last      lineKind
	blank     span // the blank lines just seen
	code      int  // index into new.code
	inBody    span // a code block that is body
}

type lineKind int

const (
	nothing lineKind = iota
	oldLine
	addedLine
	bodyLine
)

func (s *sorter) sort(r span) {
	raw := s.new.raw
	s.blank = span{r.from, r.from}
	s.last = nothing
	first := len(s.items) == 0
	for from := r.from; from < r.to; {
		to := nextLine(raw, from)
		line := string(trimLine(raw[from:to]))
		if line == "" {
			s.blank.to = to
		} else {
			if first && s.last == nothing {
				s.lead = raw[s.blank.from:s.blank.to]
			}
			s.last = s.place(span{from, to}, line)
			s.blank = span{to, to}
		}
		from = to
	}
	blank := raw[s.blank.from:s.blank.to]
	switch s.last {
	case nothing:
		if first {
			s.lead = blank
		}
	case oldLine, addedLine:
		s.trail = blank
	}
}

// place puts a line that is not blank where it belongs.
func (s *sorter) place(at span, line string) lineKind {
	block, isCode := inSpans(s.new.code, at.from, &s.code)
	if isCode && block == s.inBody {
		s.move(at)
		return bodyLine
	}
	if n := s.match(line); n > 0 {
		s.add(at, item{old: n})
		return oldLine
	}
	if _, ok := parseChange(line); ok {
		s.add(at, item{})
		return addedLine
	}
	if _, ok := bullet(line); ok && s.last != bodyLine {
		s.add(at, item{plain: true})
		return addedLine
	}
	if s.last == addedLine && (line[0] == ' ' || line[0] == '\t') {
		it := &s.items[len(s.items)-1]
		it.text = s.new.raw[at.from-len(it.text)-(s.blank.to-s.blank.from) : at.to]
		return addedLine
	}
	if isCode {
		s.inBody = block
	}
	s.move(at)
	return bodyLine
}

// match returns which line of old this is, 0 if none.
func (s *sorter) match(line string) int {
	places := s.unmatched[line]
	if len(places) == 0 {
		return 0
	}
	s.unmatched[line] = places[1:]
	return places[0]
}

func (s *sorter) add(at span, it item) {
	it.text = s.new.raw[at.from:at.to]
	if s.last == oldLine || s.last == addedLine {
		it.before = s.new.raw[s.blank.from:s.blank.to]
	}
	s.trail = nil
	s.items = append(s.items, it)
}

// dropEdited removes from items what is a line of old in edited form.
func (m *merge) dropEdited() {
	// Of a writer that did not know the last version nothing can be told.
	if m.author.Over != "" {
		return
	}
	dropped := m.droppedChanges()
	if len(dropped) == 0 {
		return
	}
	var kept []item
	for _, it := range m.items {
		if it.old > 0 || it.plain || !m.isEdited(it, dropped) {
			kept = append(kept, it)
		}
	}
	m.items = kept
}

// droppedChanges counts the lines of old that new lacks, by what an edit
// leaves of them.
func (m *merge) droppedChanges() map[string]int {
	seen := make([]bool, len(m.oldLines)+1)
	for _, it := range m.items {
		seen[it.old] = true
	}
	dropped := map[string]int{}
	for i, line := range m.oldLines {
		if c, ok := parseChange(line); ok && !seen[i+1] {
			for _, key := range editKeys(c) {
				dropped[key]++
			}
		}
	}
	return dropped
}

func (m *merge) isEdited(it item, dropped map[string]int) bool {
	line, _, _ := strings.Cut(string(it.text), "\n")
	c, ok := parseChange(strings.TrimRight(line, " \t\r"))
	if !ok || m.author.Time.Sub(c.at).Abs() < editAge {
		return false
	}
	for _, key := range editKeys(c) {
		if dropped[key] > 0 {
			dropped[key]--
			return true
		}
	}
	return false
}

func editKeys(c change) []string {
	return []string{"agent\x00" + c.stamp + "\x00" + c.agent, "text\x00" + c.stamp + "\x00" + c.text}
}

// weave makes the merged list: the lines of old in their order, and each
// added line before the one of old that it stood before, behind those that
// are put back there.
func (m *merge) weave() {
	next := 1 // line of old
	var waiting []item
	putBack := func(until int) {
		for ; next < until; next++ {
			m.list = append(m.list, item{text: []byte(m.oldLines[next-1]), old: next})
		}
	}
	for _, it := range m.items {
		switch {
		case it.old == 0:
			waiting = append(waiting, m.completed(it))
		case it.old >= next: // a line moved up, or down, is put back where it was
			putBack(it.old)
			m.list = append(append(m.list, waiting...), it)
			waiting, next = nil, it.old+1
		}
	}
	putBack(len(m.oldLines) + 1)
	m.list = append(m.list, waiting...)
}

// completed returns a plain bullet as a changelog line of the author.
func (m *merge) completed(it item) item {
	if !it.plain {
		return it
	}
	line, rest, more := strings.Cut(string(it.text), "\n")
	text, _ := bullet(trimmed(line))
	done := m.author.line(text, maxText)
	if more {
		done += m.new.eol + rest
	}
	it.text = []byte(done)
	return it
}

func trimmed(line string) string { return strings.TrimRight(line, " \t\r") }
