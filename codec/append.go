package codec

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"
)

// AppendLine returns content with one more changelog line, which says text,
// at the end of the section; a section is made where there is none. text is
// cut after 2,000 characters. Nothing else is moved or changed.
func AppendLine(content []byte, a Author, text string) []byte {
	d := newDocument(content)
	h, end, ok := d.section()
	line := a.line(text, maxText) + d.eol
	if !ok {
		m := merge{old: d, new: d, bodyEnd: len(content), list: []item{{text: []byte(line)}}}
		return m.compose()
	}
	at := h.from + len(bytes.TrimRight(content[h.from:end], " \t\r\n"))
	if at < end {
		at = nextLine(content, at)
	}
	out := withLineEnd(content[:at:at], d.eol)
	if at <= h.to {
		out = append(out, d.eol...)
	}
	out = append(out, line...)
	return append(out, content[at:]...)
}

// AddLink returns content with each of links that is not there yet in the
// field links, which is made where it is missing. No byte outside that field
// changes. Where the frontmatter is written so that nothing can be added to
// it, or a link could not be one, that is a [*Refusal].
func AddLink(content []byte, links ...string) ([]byte, error) {
	return addTo("links", content, links)
}

// AddSupersedes is [AddLink] for the field supersedes.
func AddSupersedes(content []byte, links ...string) ([]byte, error) {
	return addTo("supersedes", content, links)
}

// listOf are the links in one of the two fields that hold some.
func (e Entry) listOf(name string) []string {
	if name == "supersedes" {
		return e.Supersedes
	}
	return e.Links
}

// addTo adds links to the field name.
func addTo(name string, content []byte, links []string) ([]byte, error) {
	for _, link := range links {
		have, r := parse(content)
		if r != nil {
			return nil, r
		}
		// Which directory the entry lies in is not known here; one that is
		// deep enough lets through what only that could refuse.
		if _, r := resolveLink("a/b", link); r != nil {
			return nil, r
		}
		old := have.listOf(name)
		if contains(old, link) {
			continue
		}
		if content, r = addLink(name, content, link, append(old[:len(old):len(old)], link)); r != nil {
			return nil, r
		}
	}
	return content, nil
}

func contains(all []string, s string) bool {
	for _, have := range all {
		if have == s {
			return true
		}
	}
	return false
}

func addLink(name string, content []byte, link string, want []string) ([]byte, *Refusal) {
	f, _, r := bounds(content, true)
	if r != nil {
		return nil, r
	}
	root, all, r := fields(content[f.from:f.to])
	if r != nil {
		return nil, r
	}
	for _, fd := range all {
		if fd.name == name {
			return extendLinks(content, f, all, fd, link, want)
		}
	}
	indent := rootIndent(content, f, root, all)
	lines := indent + name + ":" + f.eol + indent + "  - " + scalar(link) + f.eol
	if out := insertAt(content, place(content, f, root, all, name), lines); linksAre(name, out, all, want) {
		return out, nil
	}
	return nil, cannotAdd(name, f.lines, link)
}

// extendLinks adds link to the list of field fd. Each place that could be
// right is tried, and what comes out is read back.
func extendLinks(content []byte, f frontmatter, all []field, fd field, link string, want []string) ([]byte, *Refusal) {
	if fd.value.Style&yaml.FlowStyle != 0 {
		if at := flowEnd(content[:f.to], lineStart(content, f.from, fd.value.Line), fd.value.Column); at > 0 {
			for _, text := range []string{", " + scalar(link), scalar(link), " " + scalar(link)} {
				if out := insertAt(content, at, text); linksAre(fd.name, out, all, want) {
					return out, nil
				}
			}
		}
		return nil, cannotAdd(fd.name, fd.line, link)
	}
	line := strings.Repeat(" ", max(fd.value.Column-1, 0)) + "- " + scalar(link) + f.eol
	first := fd.value.Content[0]
	last := fd.value.Content[len(fd.value.Content)-1]
	after := nextLine(content[:f.to], lineStart(content, f.from, last.Line))
	if out := insertAt(content, after, line); linksAre(fd.name, out, all, want) {
		return out, nil
	}
	// A last item of several lines: put the new one first instead.
	want = append(want[len(want)-1:len(want):len(want)], want[:len(want)-1]...)
	if out := insertAt(content, lineStart(content, f.from, first.Line), line); linksAre(fd.name, out, all, want) {
		return out, nil
	}
	return nil, cannotAdd(fd.name, fd.line, link)
}

func cannotAdd(name string, line int, link string) *Refusal {
	return refuse(line, name, "the link "+quote(link)+" cannot be added where "+name+" is written this way",
		"write one link a line below `"+name+":`, as `  - "+firstRunes(oneLine(link), 4*quotedRunes)+"`")
}

func insertAt(content []byte, at int, text string) []byte {
	out := make([]byte, 0, len(content)+len(text))
	out = append(append(out, content[:at]...), text...)
	return append(out, content[at:]...)
}

// linksAre reports whether the entry out has the links want in the field name,
// and else the fields of before.
func linksAre(name string, out []byte, before []field, want []string) bool {
	f, _, r := bounds(out, true)
	if r != nil {
		return false
	}
	_, after, r := fields(out[f.from:f.to])
	if r != nil {
		return false
	}
	e, r := entryOf(after, f.body)
	if r != nil || strings.Join(e.listOf(name), "\x00") != strings.Join(want, "\x00") {
		return false
	}
	values := map[string]*yaml.Node{}
	for _, fd := range after {
		values[fd.name] = fd.value
	}
	delete(values, name)
	for _, fd := range before {
		if fd.name == name {
			continue
		}
		if v := values[fd.name]; v == nil || !sameNode(v, fd.value) {
			return false
		}
		delete(values, fd.name)
	}
	return len(values) == 0
}

// flowEnd returns the offset at which a flow list [a, "b"] can be continued:
// behind its last item, or its bracket; 0 if it has no end. column, from 1,
// is where the list begins in the line at from; no item is a list itself.
func flowEnd(content []byte, from, column int) int {
	end, quoted := 0, byte(0)
	for at := from + columnBytes(content[from:], column); at < len(content); at++ {
		c := content[at]
		switch {
		case quoted == '"' && c == '\\', quoted == '\'' && bytes.HasPrefix(content[at:], []byte("''")):
			at++
		case quoted != 0:
			if c == quoted {
				quoted, end = 0, at+1
			}
		case c == ']':
			return end
		case c == '#' && bytes.IndexByte([]byte(" \t\n"), content[at-1]) >= 0:
			at = nextLine(content, at) - 1
		case (c == '"' || c == '\'') && bytes.IndexByte([]byte(" \t\n[,"), content[at-1]) >= 0:
			quoted = c
		case bytes.IndexByte([]byte(" \t\r\n"), c) < 0:
			end = at + 1
		}
	}
	return 0
}

// columnBytes returns how many bytes the first column-1 characters have.
func columnBytes(line []byte, column int) int {
	return len(firstRunes(string(line[:min(len(line), 4*column)]), column-1))
}
