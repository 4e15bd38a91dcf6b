package codec

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// The limits of a frontmatter's YAML, beside [MaxFrontmatter]: hostile input
// stays cheap under them.
const (
	MaxLevels = 16   // of mappings and lists within each other
	MaxNodes  = 4096 // keys, scalars, lists and mappings
)

const yamlFix = "write one `key: value` a line, indent with spaces, and put values that hold `: `, ` #`, or begin with one of [ { & * ! | > ' \" % @ in double quotes"

// field is one top-level key of the frontmatter.
type field struct {
	name       string
	key, value *yaml.Node
	line       int // of the draft, 1-based
}

// fields reads the YAML between the two lines "---" into its top-level
// fields, in order. It only ever makes nodes, never Go values: decoding is
// where hostile YAML explodes. The result is shared, and must not be changed.
func fields(text []byte) (root *yaml.Node, all []field, r *Refusal) {
	if p, ok := memo.get(text); ok {
		return p.root, p.all, nil
	}
	root, all, r = readFields(text)
	if r == nil {
		memo.put(text, parsed{root, all})
	}
	return root, all, r
}

func readFields(text []byte) (root *yaml.Node, all []field, r *Refusal) {
	if r := checkText(text); r != nil {
		return nil, nil, r
	}
	doc, r := parseYAML(text)
	if r != nil {
		return nil, nil, r
	}
	if len(doc.Content) == 0 {
		return nil, nil, nil
	}
	root = doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, nil, refuse(root.Line+1, "", "the frontmatter is no list of fields", yamlFix)
	}
	nodes := 0
	if r := checkNode(root, 1, &nodes); r != nil {
		return nil, nil, r
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		all = append(all, field{name: k.Value, key: k, value: v, line: k.Line + 1})
	}
	return root, all, nil
}

func parseYAML(text []byte) (doc *yaml.Node, r *Refusal) {
	// The library is known to panic on hostile input.
	defer func() {
		if p := recover(); p != nil {
			doc, r = nil, refuse(2, "", "the frontmatter is no YAML that can be read", yamlFix)
		}
	}()
	doc = new(yaml.Node)
	err := yaml.Unmarshal(text, doc)
	if err == nil {
		return doc, nil
	}
	return nil, explain(text, err)
}

// checkNode refuses below n what the package document lists.
func checkNode(n *yaml.Node, level int, nodes *int) *Refusal {
	*nodes++
	line := n.Line + 1
	switch {
	case *nodes > MaxNodes:
		return refuse(line, "", fmt.Sprintf("the frontmatter has more than %d values", MaxNodes), "move data below the frontmatter")
	case n.Kind == yaml.AliasNode:
		return refuse(line, "", aliasReason, aliasFix)
	case n.Anchor != "":
		return refuse(line, "", "the frontmatter holds an anchor (`&name`)", "remove it; put a value that begins with & in quotes")
	case n.Kind == yaml.ScalarNode:
		return nil
	case level > MaxLevels:
		return refuse(line, "", fmt.Sprintf("the frontmatter has more than %d levels", MaxLevels), "make it flatter")
	}
	if n.Kind == yaml.MappingNode {
		if r := checkKeys(n); r != nil {
			return r
		}
	}
	for _, child := range n.Content {
		if r := checkNode(child, level+1, nodes); r != nil {
			return r
		}
	}
	return nil
}

func checkKeys(n *yaml.Node) *Refusal {
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		line := k.Line + 1
		plain := k.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0
		switch {
		case k.Kind == yaml.AliasNode:
			return refuse(line, "", aliasReason, aliasFix)
		case k.Kind != yaml.ScalarNode:
			return refuse(line, "", "a key of the frontmatter is a list or a mapping", "keys are single words, as in `type: finding`; put a value that begins with { or [ in quotes")
		case k.Tag == "!!merge", k.Value == "<<" && plain:
			return refuse(line, "", "the frontmatter holds a merge key (`<<`)", "write the fields out")
		case first[k.Value] > 0:
			return refuse(line, singleKey(k.Value), fmt.Sprintf("the key %s stands in line %d already", quote(k.Value), first[k.Value]), "remove one of the two lines")
		}
		first[k.Value] = line
	}
	return nil
}

// singleKey returns a key as a refusal may name it as its field.
func singleKey(k string) string { return firstRunes(strings.TrimSpace(oneLine(k)), quotedRunes) }
