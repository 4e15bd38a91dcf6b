package codec

import (
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Types are the values of the field type (reference/1, Frontmatter).
var Types = []string{"finding", "decision", "artifact", "reference", "summary"}

const typeFix = "`type: finding` (or decision, artifact, reference, summary)"

// Entry is what the frontmatter of an entry says. Scalars are their text:
// `agent: 1234` is "1234". A field that is missing is empty.
type Entry struct {
	Agent      string
	Session    string    // the field sessionId
	Timestamp  string    // as written
	Time       time.Time // what Timestamp means, in UTC; zero where it is no ISO 8601 date and time
	Type       string
	Tags       []string
	Links      []string // as written, see ResolveLink
	Supersedes []string // as written, see ResolveLink
	Body       int      // offset of the first byte after the frontmatter
}

// Parse reads the frontmatter of a stored entry. It asks only for the right
// shapes (a string where a string belongs, a list of strings where a list
// does) and refuses with a [*Refusal] what has others; whether the entry is
// valid and complete at its place is for [Complete] to say.
func Parse(content []byte) (Entry, error) {
	e, r := parse(content)
	if r != nil {
		return Entry{}, r
	}
	return e, nil
}

func parse(content []byte) (Entry, *Refusal) {
	f, _, r := bounds(content, true)
	if r != nil {
		return Entry{}, r
	}
	_, all, r := fields(content[f.from:f.to])
	if r != nil {
		return Entry{}, r
	}
	return entryOf(all, f.body)
}

func entryOf(all []field, body int) (Entry, *Refusal) {
	e := Entry{Body: body}
	scalars := map[string]*string{"agent": &e.Agent, "sessionId": &e.Session, "timestamp": &e.Timestamp, "type": &e.Type}
	lists := map[string]*[]string{"tags": &e.Tags, "links": &e.Links, "supersedes": &e.Supersedes}
	for _, f := range all {
		var r *Refusal
		if to := scalars[f.name]; to != nil {
			*to, r = f.text()
		} else if to := lists[f.name]; to != nil {
			*to, r = f.list()
		}
		if r != nil {
			return Entry{}, r
		}
	}
	if t, ok := parseStamp(e.Timestamp); ok {
		e.Time = t.UTC()
	}
	return e, nil
}

// text returns the field's scalar as it is written.
func (f field) text() (string, *Refusal) {
	if f.value.Kind != yaml.ScalarNode {
		return "", refuse(f.line, f.name, f.name+" is a "+kindName(f.value)+", not a string", "write one value, as in `"+examples[f.name]+"`")
	}
	return f.value.Value, nil
}

// list returns the texts of the field's items.
func (f field) list() ([]string, *Refusal) {
	fix := "write a list, as in `" + examples[f.name] + "`"
	if f.value.Kind != yaml.SequenceNode {
		if f.value.Tag == "!!null" && f.value.Value == "" {
			return nil, refuse(f.line, f.name, f.name+" has no value", "write `"+f.name+": []`, or "+fix)
		}
		if s := f.value.Value; s != "" && !strings.ContainsAny(s, ",[]\n") {
			fix = "write `" + f.name + ": [" + firstRunes(oneLine(s), quotedRunes) + "]`"
		}
		return nil, refuse(f.line, f.name, f.name+" is a "+kindName(f.value)+", not a list of strings", fix)
	}
	var items []string
	for i, item := range f.value.Content {
		switch {
		case item.Kind != yaml.ScalarNode:
			return nil, refuse(item.Line+1, f.name, fmt.Sprintf("item %d of %s is a %s, not a string", i+1, f.name, kindName(item)), fix+"; put an item that holds `: ` or begins with [ or { in quotes")
		case item.Value == "":
			return nil, refuse(item.Line+1, f.name, fmt.Sprintf("item %d of %s is empty", i+1, f.name), "remove it, or write a word")
		}
		items = append(items, item.Value)
	}
	return items, nil
}

var examples = map[string]string{
	"agent": "agent: code-reviewer", "sessionId": "sessionId: a1b2c3d4", "timestamp": "timestamp: 2026-02-21T14:30:22Z",
	"type": "type: finding", "tags": "tags: [security, auth]",
	"links":      "links: [other-agent/20260221T143022-x.md]",
	"supersedes": "supersedes: [20260221T143022-x.md]",
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "list"
	case yaml.MappingNode:
		return "mapping"
	}
	return "single value"
}
