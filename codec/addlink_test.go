package codec

import (
	"strings"
	"testing"
)

func TestAddLinkChangesOnlyLinks(t *testing.T) {
	const x = "o/x.md"
	for name, c := range map[string][2]string{
		"missing":             {"type: finding\ntags: []\n", "type: finding\ntags: []\nlinks:\n  - o/x.md\n"},
		"before supersedes":   {"type: finding\nsupersedes: [a]\n", "type: finding\nlinks:\n  - o/x.md\nsupersedes: [a]\n"},
		"indented fields":     {"  type: finding\n", "  type: finding\n  links:\n    - o/x.md\n"},
		"flow":                {"links: [a/b.md]\ntype: finding\n", "links: [a/b.md, o/x.md]\ntype: finding\n"},
		"flow, empty":         {"links: []\n", "links: [o/x.md]\n"},
		"flow, blank":         {"links: [ ]\n", "links: [o/x.md ]\n"},
		"flow, spaced":        {"links: [ a ] # why\n", "links: [ a, o/x.md ] # why\n"},
		"flow, comma":         {"links: [a,]\n", "links: [a,o/x.md]\n"},
		"flow, quoted":        {"links: [\"a]\", 'b''] ']\n", "links: [\"a]\", 'b''] ', o/x.md]\n"},
		"flow, escaped":       {"links: [\"a\\\"]\"]\n", "links: [\"a\\\"]\", o/x.md]\n"},
		"flow, lines":         {"links: [\n  a, # ]\n  b\n]\n", "links: [\n  a, # ]\n  b, o/x.md\n]\n"},
		"flow, next line":     {"links:\n  [a]\ntype: finding\n", "links:\n  [a, o/x.md]\ntype: finding\n"},
		"block":               {"links:\n  - a\ntype: finding\n", "links:\n  - a\n  - o/x.md\ntype: finding\n"},
		"block, not indented": {"links:\n- a\n- b\ntype: finding\n", "links:\n- a\n- b\n- o/x.md\ntype: finding\n"},
		"block, deep":         {"links:\n      - a\n", "links:\n      - a\n      - o/x.md\n"},
		"block, comment":      {"links:\n  - a # why\n# end\n", "links:\n  - a # why\n  - o/x.md\n# end\n"},
		"block, quoted":       {"links:\n  - \"a\"\n", "links:\n  - \"a\"\n  - o/x.md\n"},
		"there already":       {"links: [o/x.md]\n", "links: [o/x.md]\n"},
		"all flow":            {"{type: finding, links: [a]}\n", "{type: finding, links: [a, o/x.md]}\n"},
		"folded last item":    {"links:\n  - a\n  - >-\n    b\n", "links:\n  - o/x.md\n  - a\n  - >-\n    b\n"},
		"umlauts before it":   {"{ä: ü, links: [a]}\n", "{ä: ü, links: [a, o/x.md]}\n"},
	} {
		for _, eol := range []string{"\n", "\r\n"} {
			wrap := func(s string) string {
				return strings.ReplaceAll("---\n"+s+"---\ntext\n---\nlinks: []\n", "\n", eol)
			}
			got, err := AddLink([]byte(wrap(c[0])), x)
			if err != nil || string(got) != wrap(c[1]) {
				t.Errorf("%s: %v\n%q\n%q", name, err, got, wrap(c[1]))
			}
		}
	}
}

func TestAddLinkQuotesAndAddsSeveral(t *testing.T) {
	got, err := AddLink([]byte("---\ntype: finding\n---\n"), "a/b: c.md", "d/e.md", "d/e.md")
	if want := "---\ntype: finding\nlinks:\n  - 'a/b: c.md'\n  - d/e.md\n---\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAddLinkRefusesWhatItCannotAdd(t *testing.T) {
	for _, c := range [][2]string{
		{"{type: finding}\n", "o/x.md"}, {"links: a\n", "o/x.md"}, {"links:\n", "o/x.md"}, {"type: [\n", "o/x.md"},
		{"type: finding\n", "/etc/passwd"}, {"type: finding\n", ""}, {"type: finding\n", "../../../x"}, {"type: finding\n", "a\nb/c"},
	} {
		if got, err := AddLink([]byte("---\n"+c[0]+"---\n"), c[1]); err == nil {
			t.Errorf("%q to %q: %q", c[1], c[0], got)
		}
	}
}

func TestAddSupersedesChangesOnlySupersedes(t *testing.T) {
	for before, want := range map[string]string{
		"type: finding\n":                    "type: finding\nsupersedes:\n  - o/x.md\n",
		"type: finding\nlinks: [o/x.md]\n":   "type: finding\nlinks: [o/x.md]\nsupersedes:\n  - o/x.md\n",
		"supersedes: [a/b.md]\nlinks: [c]\n": "supersedes: [a/b.md, o/x.md]\nlinks: [c]\n",
		"supersedes: [o/x.md]\n":             "supersedes: [o/x.md]\n",
	} {
		got, err := AddSupersedes([]byte("---\n"+before+"---\ntext\n"), "o/x.md")
		if w := "---\n" + want + "---\ntext\n"; err != nil || string(got) != w {
			t.Errorf("%v\n%q\n%q", err, got, w)
		}
	}
}
