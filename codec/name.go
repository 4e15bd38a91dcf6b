package codec

import (
	"fmt"
	"strings"
	"time"
)

// maxEntryName is the longest name of an entry, in bytes: 255, what file
// systems allow, less the ".rej" of a refused draft.
const maxEntryName = 255 - len(".rej")

// nameLayout is the timestamp that entry names begin with (reference/1,
// Filename Pattern).
const nameLayout = "20060102T150405"

const nameFix = "name it <timestamp>-<slug>.md, as in 20260221T143022-auth-vulnerability.md"

// Reserved holds the names at the root of the mount that cannot be agents.
var Reserved = map[string]bool{
	"vars": true, "results": true, "memories": true, "invocations": true,
	".ctxfs": true, "README": true,
}

// IsEntry reports whether a file of this name in an agent's directory is
// meant as an entry, so that [CheckEntryName] applies: it ends in ".md" and
// does not begin with ".", "#" or "~", as editors' own files do.
func IsEntry(name string) bool {
	return strings.HasSuffix(name, ".md") && !strings.ContainsRune(".#~", rune(name[0]))
}

// CheckEntryName returns nil if name is <timestamp>[Z]-<slug>.md with a real
// date and time, a [*Refusal] with EINVAL otherwise.
func CheckEntryName(name string) error {
	if r := entryName(name); r != nil {
		return r
	}
	return nil
}

func entryName(name string) *Refusal {
	bad := func(format string, a ...any) *Refusal {
		return refuse(0, "", fmt.Sprintf("the name %s ", quote(name))+fmt.Sprintf(format, a...), nameFix)
	}
	if len(name) > maxEntryName {
		return bad("has %d bytes, %d is the most", len(name), maxEntryName)
	}
	stem, ok := strings.CutSuffix(name, ".md")
	if !ok {
		return bad("does not end in .md")
	}
	stamp, slug, ok := strings.Cut(stem, "-")
	if !ok || !isStamp(strings.TrimSuffix(stamp, "Z")) {
		return bad("does not begin with a timestamp YYYYMMDDTHHMMSS and a hyphen")
	}
	if _, err := time.Parse(nameLayout, strings.TrimSuffix(stamp, "Z")); err != nil {
		return bad("begins with a date or time that does not exist")
	}
	if slug == "" {
		return bad("has no slug after the timestamp")
	}
	if i := strings.IndexFunc(slug, func(r rune) bool { return !nameRune(r) || r == ':' }); i >= 0 {
		return bad("holds %s in the slug; letters, digits, '.', '_' and '-' are allowed", quote(firstRunes(slug[i:], 1)))
	}
	return nil
}

// isStamp reports whether s is written as YYYYMMDDTHHMMSS. time.Parse alone
// would also take a fraction of a second.
func isStamp(s string) bool {
	if len(s) != len(nameLayout) {
		return false
	}
	for i := range len(s) {
		if i == 8 {
			if s[i] != 'T' {
				return false
			}
		} else if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// NameTime returns the time that an entry's name begins with, in UTC; ok is
// false where the name is not that of an entry.
func NameTime(name string) (t time.Time, ok bool) {
	if entryName(name) != nil {
		return time.Time{}, false
	}
	t, err := time.Parse(nameLayout, name[:len(nameLayout)])
	return t, err == nil
}

// CheckDirName returns nil if name may be the directory of an agent or of a
// session, a [*Refusal] with EINVAL otherwise. That an agent's name is not
// one of [Reserved] is for the caller to check.
func CheckDirName(name string) error {
	fix := "begin with a letter or digit, go on with letters, digits, '.', '_', ':' and '-', at most 128 bytes"
	what := "the directory name " + quote(name)
	switch {
	case name == "":
		return refuse(0, "", "the directory name is empty", fix)
	case len(name) > maxLabel:
		return refuse(0, "", fmt.Sprintf("%s has %d bytes, %d is the most", what, len(name), maxLabel), fix)
	case !nameRune(rune(name[0])) || strings.ContainsRune("._:-", rune(name[0])):
		return refuse(0, "", fmt.Sprintf("%s begins with %s", what, quote(firstRunes(name, 1))), fix)
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return !nameRune(r) }); i >= 0 {
		return refuse(0, "", fmt.Sprintf("%s holds %s", what, quote(firstRunes(name[i:], 1))), fix)
	}
	return nil
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-", r)
}
