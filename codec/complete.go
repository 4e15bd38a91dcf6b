package codec

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Complete validates an entry and returns it with every field filled in that
// the file system knows: agent, sessionId, timestamp, and `tags: []`. Filling
// in inserts lines into the frontmatter, with its own line ends, and changes
// no other byte; content that is complete comes back as it is. What is not
// valid is a [*Refusal].
func Complete(content []byte, k Known) ([]byte, error) {
	done, r := complete(content, k)
	if r != nil {
		return nil, r
	}
	return done, nil
}

func complete(content []byte, k Known) ([]byte, *Refusal) {
	f, _, r := bounds(content, true)
	if r != nil {
		return nil, r
	}
	root, all, r := fields(content[f.from:f.to])
	if r != nil {
		return nil, r
	}
	if r := k.valid(all, f); r != nil {
		return nil, r
	}
	adds := k.missing(all)
	if len(adds) == 0 {
		return content, nil
	}
	return insertLines(content, f, root, all, adds)
}

// CheckPrefix says of the first bytes of an entry that is being written
// whether it can still become valid: err, a [*Refusal], as soon as no
// continuation can; done once the frontmatter has ended and is valid, so that
// there is no need to ask again. It is cheap to call on a prefix that grows.
// That prefix must be what was written: holes are the caller's to see.
func CheckPrefix(prefix []byte, k Known) (done bool, err error) {
	f, open, r := bounds(prefix, false)
	if r != nil {
		return false, r
	}
	if open {
		return false, nil
	}
	if _, r := complete(prefix[:f.body], k); r != nil {
		return false, r
	}
	return true, nil
}

// fieldOrder is the order in which entries are written (reference/1).
var fieldOrder = []string{"agent", "sessionId", "timestamp", "type", "tags", "links", "supersedes"}

// addition is a field to be written, as YAML.
type addition struct{ name, text, yaml string }

func (k Known) missing(all []field) (adds []addition) {
	has := map[string]bool{}
	for _, f := range all {
		has[f.name] = true
	}
	add := func(name, text, yaml string) {
		if !has[name] {
			adds = append(adds, addition{name, text, yaml})
		}
	}
	add("agent", k.Agent, scalar(k.Agent))
	if s := k.session(); s != "" {
		add("sessionId", s, scalar(s))
	}
	stamp := k.Time.UTC().Format(stampLayout)
	add("timestamp", stamp, stamp)
	add("tags", "", "[]")
	return adds
}

// scalar writes s as a YAML scalar that is read back as the string s,
// whatever it looks like.
func scalar(s string) string {
	out, err := yaml.Marshal(s)
	line := strings.TrimSuffix(string(out), "\n")
	if err != nil || strings.Contains(line, "\n") || strings.HasPrefix(line, "!!") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
	}
	return line
}

// insertLines writes each addition before the next field in fieldOrder that
// is there, else at the end, and then reads the result back: YAML knows ways
// to write a mapping into which no line can be inserted.
func insertLines(content []byte, f frontmatter, root *yaml.Node, all []field, adds []addition) ([]byte, *Refusal) {
	at := map[int]string{}
	indent := rootIndent(content, f, root, all)
	for _, a := range adds {
		pos := place(content, f, root, all, a.name)
		at[pos] += indent + a.name + ": " + a.yaml + f.eol
	}
	var out bytes.Buffer
	out.Grow(len(content) + 512)
	from := 0
	for _, pos := range slices.Sorted(maps.Keys(at)) {
		out.Write(content[from:pos])
		out.WriteString(at[pos])
		from = pos
	}
	out.Write(content[from:f.to])
	end := out.Len()
	out.Write(content[f.to:])
	if !readsBack(out.Bytes()[f.from:end], all, adds) {
		names := make([]string, len(adds))
		for i, a := range adds {
			names[i] = "`" + a.name + ": " + a.yaml + "`"
		}
		return nil, refuse(f.lines, adds[0].name, adds[0].name+" is missing and cannot be filled in where the frontmatter is written this way",
			"write one `key: value` a line, or add "+strings.Join(names, ", "))
	}
	return out.Bytes(), nil
}

// place returns the offset at which a line with the field name is inserted.
func place(content []byte, f frontmatter, root *yaml.Node, all []field, name string) int {
	later := false
	for _, next := range fieldOrder {
		if next == name {
			later = true
			continue
		}
		if !later {
			continue
		}
		for i, fd := range all {
			if fd.name != next {
				continue
			}
			if i == 0 && root.Style&yaml.TaggedStyle == 0 {
				return f.from // above the comments over the first field
			}
			return lineStart(content, f.from, fd.key.Line)
		}
	}
	return f.to
}

// lineStart returns the offset of the n-th line (from 1) of those that begin
// at from.
func lineStart(content []byte, from, n int) int {
	for ; n > 1; n-- {
		from += bytes.IndexByte(content[from:], '\n') + 1
	}
	return from
}

// rootIndent returns the blanks before the first field.
func rootIndent(content []byte, f frontmatter, root *yaml.Node, all []field) string {
	if root == nil || len(all) == 0 {
		return ""
	}
	line := content[lineStart(content, f.from, all[0].key.Line):f.to]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " "))])
}

// readsBack reports whether text has the fields of before and, with the
// intended values, those of adds.
func readsBack(text []byte, before []field, adds []addition) bool {
	_, after, r := fields(text)
	if r != nil || len(after) != len(before)+len(adds) {
		return false
	}
	values := map[string]*yaml.Node{}
	for _, f := range after {
		values[f.name] = f.value
	}
	for _, f := range before {
		if v := values[f.name]; v == nil || !sameNode(v, f.value) {
			return false
		}
	}
	for _, a := range adds {
		if v := values[a.name]; v == nil || v.Value != a.text || len(v.Content) > 0 {
			return false
		}
	}
	return true
}

func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
