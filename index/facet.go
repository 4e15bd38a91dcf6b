package index

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ctxfs/codec"
)

// Kind is one way in which entries are grouped.
type Kind int

const (
	ByTag        Kind = 1
	ByType       Kind = 2
	ByAgent      Kind = 3
	BySession    Kind = 4
	ByBacklinks  Kind = 5 // value: the entry that is linked to
	bySuperseded Kind = 6 // value: the entry that is superseded
	BySuperseded Kind = 7 // value: "yes" or "no"; computed, in no table
)

// maxName is the longest name of a file, in bytes.
const maxName = 255

// LinkName is how the entry at a path of the store is named where entries of
// all agents lie beside each other: agent__entry.md or
// agent__session__entry.md. No two entries have the same one.
func LinkName(p string) string {
	parts := strings.Split(p, "/")
	for i, s := range parts {
		parts[i] = strings.ReplaceAll(escape(s), "__", "_%5F")
	}
	return bounded(strings.Join(parts, "__"), p, ".md")
}

// Escape writes a value as the name of a file: slashes, control characters,
// the percent sign, a dot at the beginning and what is no UTF-8 are written as
// %XX.
func Escape(value string) string { return bounded(escape(value), value, "") }

func escape(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRuneInString(value[i:])
		if r == utf8.RuneError && n <= 1 || r == '/' || r == '%' || r == '.' && i == 0 || unprintable(r) {
			for _, c := range []byte(value[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(value[i : i+n])
		}
		i += n
	}
	if b.Len() == 0 {
		return "%"
	}
	return b.String()
}

// unprintable are the characters that control a terminal or change how others
// are shown.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// bounded cuts a name that is too long and makes it unique by a hash of what
// it stands for.
func bounded(name, of, suffix string) string {
	if len(name) <= maxName {
		return name
	}
	hash := fmt.Sprintf("~%x", sha256.Sum256([]byte(of)))[:17]
	cut := maxName - len(hash) - len(suffix)
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + hash + suffix
}

// facet is a value under which an entry is found.
type facet struct {
	kind  Kind
	value string // escaped
}

// word is the word of the index for a facet.
func (f facet) word() string {
	return fmt.Sprintf("%s%d%x", facetMark, f.kind, sha256.Sum256([]byte(f.value)))[:len(facetMark)+1+24]
}

// facetsOf derives them from the frontmatter of the entry at p; that of an
// entry which cannot be parsed is empty.
func facetsOf(p string, e codec.Entry) []facet {
	parts := strings.Split(p, "/")
	all := []facet{{ByAgent, Escape(parts[0])}}
	add := func(k Kind, value string) {
		if f := (facet{k, value}); value != "" && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	escaped := func(k Kind, value string) {
		if value != "" {
			add(k, Escape(value))
		}
	}
	if len(parts) == 3 {
		escaped(BySession, parts[1])
	}
	escaped(BySession, e.Session)
	escaped(ByType, e.Type)
	for _, tag := range e.Tags {
		escaped(ByTag, tag)
	}
	links := func(k Kind, links []string) {
		for _, link := range links {
			if target, err := codec.ResolveLink(path.Dir(p), link); err == nil {
				add(k, LinkName(target))
			}
		}
	}
	links(ByBacklinks, e.Links)
	links(ByBacklinks, e.Supersedes)
	links(bySuperseded, e.Supersedes)
	return all
}
