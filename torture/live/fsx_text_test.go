package live

import (
	"fmt"
	"regexp"
	"strings"
)

// saved is an entry as it is committed: what stands above its changelog, with
// the frontmatter, and the lines of that.
type saved struct {
	there bool
	text  string
	log   []string // with line ends; nil where there is no section
}

const heading = "## Changelog\n"

func (s saved) content() string {
	if s.log == nil {
		return s.text
	}
	return s.text + heading + "\n" + strings.Join(s.log, "")
}

// How a save is described in the changelog.
const (
	none    = "nothing has changed"
	first   = "a new entry has no line"
	derived = "one line is derived from the change"
	own     = "the writer brought lines"
)

// with is what a save of draft makes of s: all but the line that is derived.
// ok is false where it is refused. It says once more what package codec does,
// for drafts that the steps make.
func (s saved) with(draft string) (next saved, change string, ok bool) {
	if !heads.MatchString(draft) {
		return s, none, false
	}
	if !s.there {
		return saved{there: true, text: draft}, first, true
	}
	text, below, found := section(draft)
	moved, added := s.sort(below)
	for _, piece := range moved {
		text = blankLine(text) + piece
	}
	before, after := s.text, text
	if found != (s.log != nil) || len(moved) > 0 {
		before, after = strings.TrimRight(before, "\n"), strings.TrimRight(after, "\n")
	}
	switch {
	case len(added) > 0:
		change = own
	case before == after:
		return s, none, true
	default:
		change = derived
	}
	if !found || len(moved) > 0 {
		text = blankLine(text)
	}
	log := append(append([]string{}, s.log...), added...)
	return saved{there: true, text: text, log: log}, change, true
}

// sort takes what a writer left below the heading apart: text, which moves
// above it, and its own lines. Those of s stay in any case.
func (s saved) sort(below string) (moved, added []string) {
	old := map[string]int{}
	for _, line := range s.log {
		old[line]++
	}
	var piece strings.Builder
	flush := func() {
		if text := strings.Trim(piece.String(), "\n"); text != "" {
			moved = append(moved, text)
		}
		piece.Reset()
	}
	for line := range strings.Lines(below) {
		ended := strings.TrimSuffix(line, "\n") + "\n"
		switch {
		case old[ended] > 0:
			old[ended]--
			flush()
		case strings.HasPrefix(line, "- 20"):
			added = append(added, ended)
			flush()
		default:
			piece.WriteString(line)
		}
	}
	flush()
	return moved, added
}

// section cuts content at the heading of its changelog.
func section(content string) (above, below string, found bool) {
	at := strings.LastIndex(content, "\n"+strings.TrimSuffix(heading, "\n"))
	if at < 0 {
		return content, "", false
	}
	rest := content[at+len(heading):]
	if rest != "" && rest[0] != '\n' {
		return content, "", false
	}
	return content[:at+1], strings.TrimPrefix(rest, "\n"), true
}

func blankLine(text string) string {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if !strings.HasSuffix(text, "\n\n") {
		text += "\n"
	}
	return text
}

// someTypes are of one length, so that one can be written over another. The
// last is none.
var someTypes = []string{"finding", "summary", "finding", "rubbish"}

var heads = regexp.MustCompile(`^---\nagent: a\nsessionId: s\ntimestamp: 2026-02-21T14:30:22Z\ntype: (?:finding|summary)\ntags: \[\w*\]\n---\n`)

// someEntry is a whole entry, of which nothing has to be filled in.
func someEntry(s step) string {
	head := "---\nagent: a\nsessionId: s\ntimestamp: 2026-02-21T14:30:22Z\ntype: %s\ntags: [%c]\n---\n"
	text := fmt.Sprintf(head, someTypes[s.at%2], s.filler)
	if s.n%3 == 0 {
		text += fmt.Sprintf("# %c\n", s.filler)
	}
	return text + someText(s)
}

// someText is lines of letters.
func someText(s step) string {
	var b strings.Builder
	for size := s.n % 3000; b.Len() < size; {
		b.WriteString(strings.Repeat(string(s.filler), 1+(s.at+b.Len())%70) + "\n")
		if (s.at+b.Len())%7 == 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// cutAt is a size to which content is cut: in the frontmatter, in the text, at
// the end of a line of the changelog, or a little beyond the end.
func cutAt(content string, at int) int {
	at %= len(content) + 20
	head := len(heads.FindString(content))
	if at < head {
		return min(at, head-len("\n---\n"))
	}
	above, _, found := section(content)
	if found && at > len(above)-1 && at < len(content) {
		at += strings.IndexByte(content[at:]+"\n", '\n') + 1
	}
	return min(at, len(content)+20)
}

func part(text string, at, n int) []byte {
	at = min(at, len(text))
	return []byte(text[at:min(at+n, len(text))])
}
