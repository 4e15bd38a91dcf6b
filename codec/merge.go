package codec

import "bytes"

// Merge returns the next version of an entry: what a writer left in new, with
// every changelog line of the version old that it overwrites, and a line of
// its own for this change. changed is false where there is nothing to commit;
// merged is then old. Both must be complete entries. Where old is nil, new is
// the first content and stays as it is.
//
// In the changelog section (reference/1, Updating Entries):
//
//   - Lines of old that the writer dropped or edited are put back, in their
//     order. A line with the time and the agent, or the time and the text, of
//     a dropped one counts as that line edited, and goes, unless it is so
//     recent (see editAge) that it may be another writer's.
//   - Lines "- <ISO timestamp> [<agent>]: <text>" that the writer added stay
//     as written; other bullets that it added become such lines. Then no line
//     is added.
//   - Everything else that the writer put below the heading is body and moves
//     above it.
//   - Otherwise, if frontmatter or body changed, one line is added that sums
//     the change up.
//
// The bytes of new's frontmatter, and of its body but for blank lines at its
// end, stay as they are. A code block that the body leaves open is closed, so
// that the section does not lie in it.
func Merge(old, new []byte, a Author) (merged []byte, changed bool) {
	if old == nil {
		return new, true
	}
	if bytes.Equal(old, new) {
		return old, false
	}
	m := newMerge(old, new, a)
	added := m.ownLines()
	if !added && m.sameText() {
		return old, false
	}
	if !added {
		text := summarize(m.oldText(), m.bodyText())
		m.list = append(m.list, item{text: []byte(a.line(text, maxSummary))})
	}
	return m.compose(), true
}

// merge is one merge under way.
type merge struct {
	old, new document
	author   Author
	oldLines []string

	hasOld  bool
	bodyEnd int    // of new: where the text above the section ends
	head    []byte // the heading line as new has it, nil if it has none
	lead    []byte // the blank lines under it
	trail   []byte // the blank lines after the last line, if nothing follows

	moved []span // of new: text below the heading that is body
	items []item // lines of new's section, in its order
	list  []item // lines of the merged section
}

// item is a line in the section: one of old's, or one that is added.
type item struct {
	before []byte // blank lines above it
	text   []byte // the line, and its continuation lines; the last may lack its line end
	old    int    // index into oldLines, from 1; 0 for a line that is added
	plain  bool   // a bullet that has to be completed
}

func newMerge(old, new []byte, a Author) *merge {
	m := &merge{old: newDocument(old), new: newDocument(new), author: a}
	oldHead, _, hasOld := m.old.section()
	m.hasOld = hasOld
	if hasOld {
		m.oldLines = m.old.lines(oldHead)
	}
	m.bodyEnd = len(new)
	if h, end, ok := m.new.section(); ok {
		m.takeSection(h, end)
	}
	m.weave()
	return m
}

// takeSection sorts what stands below the heading of new.
func (m *merge) takeSection(h span, end int) {
	s := sorter{merge: m, unmatched: indexLines(m.oldLines)}
	head := h
	if first, ok := m.appendedHeading(); ok {
		head = first
		firstEnd := m.new.sectionEnd(first)
		s.sort(span{first.to, firstEnd})
		m.move(span{firstEnd, h.from})
	}
	s.sort(span{h.to, end})
	m.move(span{end, len(m.new.raw)})
	m.bodyEnd, m.head = head.from, m.new.raw[head.from:head.to]
	m.dropEdited()
}

// appendedHeading returns the heading of old's section in new where the
// writer put a second one below it, as programs do that append heading and
// line without looking.
func (m *merge) appendedHeading() (first span, ok bool) {
	n := len(m.new.headings)
	if !m.hasOld || n < 2 || n <= len(m.old.headings) {
		return span{}, false
	}
	known := indexLines(m.oldLines)
	first = m.new.headings[n-2]
	for _, line := range m.new.lines(first) {
		if len(known[line]) == 0 {
			return span{}, false
		}
	}
	return first, true
}

// move notes text below the heading that belongs above it. Pieces with only
// blank lines between them stay one piece, byte for byte.
func (m *merge) move(s span) {
	if len(trimBlankLines(m.new.raw[s.from:s.to])) == 0 {
		return
	}
	m.trail = nil
	if n := len(m.moved); n > 0 {
		last := &m.moved[n-1]
		if last.to <= s.from && len(trimBlankLines(m.new.raw[last.to:s.from])) == 0 {
			last.to = s.to
			return
		}
	}
	m.moved = append(m.moved, s)
}

// ownLines reports whether the writer added lines to the section.
func (m *merge) ownLines() bool {
	for _, it := range m.list {
		if it.old == 0 {
			return true
		}
	}
	return false
}

// sameText reports whether frontmatter and body are those of old. Where a
// section was added, dropped or moved, blank lines at the end of the body are
// no change of the body.
func (m *merge) sameText() bool {
	before, after := m.oldText(), m.bodyText()
	if (m.head != nil) != m.hasOld || len(m.moved) > 0 {
		before, after = bytes.TrimRight(before, " \t\r\n"), bytes.TrimRight(after, " \t\r\n")
	}
	return bytes.Equal(before, after)
}

// bodyText returns frontmatter and body of new, as far as the writer wrote
// them.
func (m *merge) bodyText() []byte {
	text := m.new.raw[:m.bodyEnd:m.bodyEnd]
	for _, s := range m.moved {
		text = withBlankLine(text, m.new.eol)
		text = append(text, trimBlankLines(m.new.raw[s.from:s.to])...)
	}
	return text
}

// oldText returns the same of old, whose section need not be its end.
func (m *merge) oldText() []byte {
	h, end, ok := m.old.section()
	if !ok {
		return m.old.raw
	}
	text := m.old.raw[:h.from:h.from]
	if tail := trimBlankLines(m.old.raw[end:]); len(tail) > 0 {
		text = append(withBlankLine(text, m.old.eol), tail...)
	}
	return text
}

// compose puts the merged entry together.
func (m *merge) compose() []byte {
	eol := m.new.eol
	out := make([]byte, 0, len(m.new.raw)+len(m.old.raw)/4+512)
	out = append(out, m.bodyText()...)
	if mark := unclosedFence(out, min(m.new.body, len(out))); mark != nil {
		out = append(bytes.TrimRight(out, " \t\r\n"), eol...)
		out = append(append(out, mark...), eol...)
		out = withBlankLine(out, eol)
	} else if m.head == nil || len(m.moved) > 0 {
		out = withBlankLine(out, eol)
	}
	head, lead := m.head, m.lead
	if head == nil {
		head, lead = []byte(heading), []byte(eol)
	}
	out = withLineEnd(append(out, head...), eol)
	if len(m.items) == 0 && len(lead) == 0 {
		lead = []byte(eol)
	}
	out = append(out, lead...)
	for _, it := range m.list {
		out = append(withLineEnd(out, eol), it.before...)
		out = append(out, it.text...)
	}
	// As the writer left it, or with a line end where a line was added.
	if n := len(m.list); n > 0 && (len(m.items) == 0 || !sameBytes(m.list[n-1].text, m.items[len(m.items)-1].text)) {
		out = withLineEnd(out, eol)
	}
	if len(m.trail) > 0 {
		out = append(withLineEnd(out, eol), m.trail...)
	}
	return out
}

// sameBytes reports whether a and b are the same memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// trimBlankLines returns b without the blank lines at its beginning and end,
// and without the last line end.
func trimBlankLines(b []byte) []byte {
	b = bytes.TrimRight(b, " \t\r\n")
	for len(b) > 0 {
		to := nextLine(b, 0)
		if len(trimLine(b[:to])) > 0 {
			break
		}
		b = b[to:]
	}
	return b
}
