package codec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxCompared is the most bytes of a text whose sections are compared line by
// line for the summary of a change.
const maxCompared = 4 << 20

// summarize says in one line what differs between two texts without their
// changelog sections: `type finding → decision; tags +perf −sql; Impact +3 −1
// lines`.
func summarize(before, after []byte) string {
	oldAll, oldBody := takeFields(before)
	newAll, newBody := takeFields(after)
	parts := changedFields(oldAll, newAll)
	if len(parts) == 0 && !bytes.Equal(trimLine(before[:oldBody]), trimLine(after[:newBody])) {
		parts = []string{"frontmatter rewritten, same values"}
	}
	if !bytes.Equal(before[oldBody:], after[newBody:]) {
		parts = append(parts, changedSections(before, after, oldBody, newBody)...)
	}
	return strings.Join(parts, "; ")
}

func takeFields(content []byte) (all []field, body int) {
	f, _, r := bounds(content, true)
	if r != nil {
		return nil, 0
	}
	if _, all, r = fields(content[f.from:f.to]); r != nil {
		return nil, f.body
	}
	return all, f.body
}

func changedFields(before, after []field) (parts []string) {
	old := map[string]*yaml.Node{}
	for _, f := range before {
		old[f.name] = f.value
	}
	for _, f := range after {
		was, ok := old[f.name]
		delete(old, f.name)
		if !ok {
			was = nil
		}
		if part := changedField(f.name, was, f.value); part != "" {
			parts = append(parts, part)
		}
	}
	for _, f := range before {
		if _, gone := old[f.name]; gone {
			parts = append(parts, changedField(f.name, f.value, nil))
		}
	}
	return parts
}

// changedField describes the change of one field from was to is, each nil
// where the field is missing; "" if there is none.
func changedField(name string, was, is *yaml.Node) string {
	name = word(name)
	isList := func(n *yaml.Node) bool { return n == nil || n.Kind == yaml.SequenceNode }
	isScalar := func(n *yaml.Node) bool { return n == nil || n.Kind == yaml.ScalarNode }
	switch {
	case was != nil && is != nil && sameNode(was, is):
		return ""
	case isList(was) && isList(is):
		return name + listChange(was, is)
	case was == nil && isScalar(is):
		return name + " +" + word(is.Value)
	case is == nil && isScalar(was):
		return name + " −" + word(was.Value)
	case isScalar(was) && isScalar(is):
		return name + " " + word(was.Value) + " → " + word(is.Value)
	}
	return name + " changed"
}

func listChange(was, is *yaml.Node) string {
	before, after := texts(was), texts(is)
	var b strings.Builder
	for _, s := range after {
		if !slices.Contains(before, s) {
			b.WriteString(" +" + word(s))
		}
	}
	for _, s := range before {
		if !slices.Contains(after, s) {
			b.WriteString(" −" + word(s))
		}
	}
	switch {
	case b.Len() > 0:
		return b.String()
	case was == nil:
		return " added"
	case is == nil:
		return " removed"
	}
	return " reordered"
}

func texts(list *yaml.Node) (all []string) {
	if list != nil {
		for _, n := range list.Content {
			all = append(all, n.Value)
		}
	}
	return all
}

// word returns a writer's text as a short part of a summary.
func word(s string) string {
	if s = shorten(oneLine(firstRunes(s, maxSummary)), quotedRunes); s == "" {
		return `""`
	}
	return s
}

// part is the text under one heading, or above the first one.
type part struct {
	title string // "" above the first heading
	nth   int    // of those with this title, from 0
}

func changedSections(before, after []byte, oldBody, newBody int) (parts []string) {
	if len(before) > maxCompared || len(after) > maxCompared {
		return []string{fmt.Sprintf("text of %d → %d bytes", len(before)-oldBody, len(after)-newBody)}
	}
	oldOrder, oldLines := sections(before, oldBody)
	newOrder, newLines := sections(after, newBody)
	for _, p := range newOrder {
		if s := changedLines(oldLines[p], newLines[p]); s != "" {
			parts = append(parts, p.name()+" "+s)
		}
	}
	for _, p := range oldOrder {
		if _, still := newLines[p]; !still {
			if s := changedLines(oldLines[p], nil); s != "" {
				parts = append(parts, p.name()+" "+s)
			}
		}
	}
	switch {
	case len(parts) > 0:
		return parts
	case !slices.Equal(oldOrder, newOrder):
		return []string{"sections reordered"}
	}
	return []string{"only blanks or line ends of the text"}
}

func (p part) name() string {
	if p.title == "" {
		return "text"
	}
	return word(p.title)
}

// sections returns the lines that are not blank under each heading outside
// code blocks, with the heading itself.
func sections(content []byte, body int) (order []part, lines map[part][]string) {
	lines = map[part][]string{}
	count := map[string]int{}
	code := fences(content, body)
	now, i := part{}, 0
	for from := body; from < len(content); {
		to := nextLine(content, from)
		line := trimLine(content[from:to])
		if n := headingLevel(line); n > 0 {
			if _, hidden := inSpans(code, from, &i); !hidden {
				title := string(bytes.TrimSpace(line[n:]))
				now = part{title, count[title]}
				count[title]++
			}
		}
		if len(line) > 0 {
			if lines[now] == nil {
				order = append(order, now)
			}
			lines[now] = append(lines[now], string(line))
		}
		from = to
	}
	return order, lines
}

// changedLines says how many lines one has and the other has not; "" if they
// are equal.
func changedLines(before, after []string) string {
	if slices.Equal(before, after) {
		return ""
	}
	count := map[string]int{}
	for _, line := range before {
		count[line]--
	}
	for _, line := range after {
		count[line]++
	}
	more, fewer := 0, 0
	for _, n := range count {
		more += max(n, 0)
		fewer += max(-n, 0)
	}
	s := ""
	if more > 0 {
		s += fmt.Sprintf("+%d ", more)
	}
	if fewer > 0 {
		s += fmt.Sprintf("−%d ", fewer)
	}
	switch more + fewer {
	case 0:
		return "reordered"
	case 1:
		return s + "line"
	}
	return s + "lines"
}
