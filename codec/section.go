package codec

import (
	"bytes"
	"strings"
	"time"
)

// heading is the line that opens the changelog section.
const heading = "## Changelog"

// document is an entry taken apart around its changelog section. All offsets
// are into raw.
type document struct {
	raw      []byte
	body     int    // after the frontmatter
	eol      string // for lines that are added
	code     []span // code blocks
	headings []span // of changelog sections, with line ends; the last is the section's
}

func newDocument(content []byte) document {
	d := document{raw: content, eol: "\n"}
	if f, _, r := bounds(content, true); r == nil {
		d.body, d.eol = f.body, f.eol
	}
	d.code = fences(content, d.body)
	i := 0
	for from := d.body; from < len(content); {
		to := nextLine(content, from)
		if content[from] == '#' && string(trimLine(content[from:to])) == heading {
			if _, hidden := inSpans(d.code, from, &i); !hidden {
				d.headings = append(d.headings, span{from, to})
			}
		}
		from = to
	}
	return d
}

// section returns the heading of the section and where the section ends; ok
// is false where there is none.
func (d document) section() (h span, end int, ok bool) {
	if len(d.headings) == 0 {
		return span{}, 0, false
	}
	h = d.headings[len(d.headings)-1]
	return h, d.sectionEnd(h), true
}

// sectionEnd returns where the section under h ends: at a heading of level 1
// or 2, whether it stands in a code block or not, so that lines of a section
// can be put together anew without asking what is code.
func (d document) sectionEnd(h span) int {
	for from := h.to; from < len(d.raw); {
		to := nextLine(d.raw, from)
		if n := headingLevel(d.raw[from:to]); n == 1 || n == 2 {
			return from
		}
		from = to
	}
	return len(d.raw)
}

// lines returns the lines of the section under h that are not blank, without
// blanks at their ends.
func (d document) lines(h span) (all []string) {
	end := d.sectionEnd(h)
	for from := h.to; from < end; {
		to := nextLine(d.raw, from)
		if line := trimLine(d.raw[from:to]); len(line) > 0 {
			all = append(all, string(line))
		}
		from = to
	}
	return all
}

// ChangelogLines returns the lines of the changelog section, oldest first,
// without blank lines, line ends and the blanks before them; nil where there
// is no section.
func ChangelogLines(content []byte) []string {
	d := newDocument(content)
	if h, _, ok := d.section(); ok {
		return d.lines(h)
	}
	return nil
}

// LastAuthor returns the agent of the last changelog line that names one, ""
// if none does.
func LastAuthor(content []byte) string {
	lines := ChangelogLines(content)
	for i := len(lines) - 1; i >= 0; i-- {
		if c, ok := parseChange(lines[i]); ok {
			return c.agent
		}
	}
	return ""
}

// change is a changelog line "- <ISO timestamp> [<agent>]: <text>".
type change struct {
	stamp, agent, text string
	at                 time.Time
}

func parseChange(line string) (c change, ok bool) {
	rest, ok := strings.CutPrefix(line, "- ")
	if !ok {
		return c, false
	}
	if c.stamp, rest, ok = strings.Cut(strings.TrimLeft(rest, " "), " ["); !ok {
		return c, false
	}
	if c.agent, c.text, ok = strings.Cut(rest, "]:"); !ok || c.agent == "" || strings.Contains(c.agent, "]") {
		return c, false
	}
	c.text = strings.TrimSpace(c.text)
	c.at, ok = parseStamp(c.stamp)
	return c, ok && c.text != ""
}

// bullet returns the text of a list item, ok false for any other line.
func bullet(line string) (text string, ok bool) {
	if len(line) < 2 || !strings.ContainsRune("-*+", rune(line[0])) || line[1] != ' ' && line[1] != '\t' {
		return "", false
	}
	text = strings.TrimSpace(line[2:])
	rule := strings.Trim(text, "-*+ \t") == "" // "- - -" is a line across the page
	return text, !rule
}

// withLineEnd returns b with eol at its end, unless it is empty or ends in one.
func withLineEnd(b []byte, eol string) []byte {
	if len(b) == 0 || b[len(b)-1] == '\n' {
		return b
	}
	return append(b, eol...)
}

// withBlankLine returns b with a blank line at its end, unless it is empty or
// has one.
func withBlankLine(b []byte, eol string) []byte {
	b = withLineEnd(b, eol)
	if len(b) == 0 {
		return b
	}
	last := bytes.LastIndexByte(b[:len(b)-1], '\n') + 1
	if len(trimLine(b[last:])) == 0 {
		return b
	}
	return append(b, eol...)
}
