package codec

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// someLines is what random entries are made of: everything that means
// something to a merge.
var someLines = []string{
	"## Changelog", "## Changelog", "## Changelog ", "# Title", "## Part", "### Detail", "####### no heading",
	"```", "```sh", "````", "~~~", "~~~~ x", "  ```", "    ```", "`` `", "", "", "", "  ", "text", "text", "---", "- - -",
	"- plain", "- other", "* star", "-", "-no bullet", "  continued", "\tcontinued", "  ```",
	"- 2026-01-01T00:00:00Z [a]: one", "- 2026-01-01T00:00:00Z [a]: two", "- 2026-01-01T00:00:00Z [b]: one",
	"- 2026-01-02T00:00:00.5+01:00 [b c]: three", "- 2026-02-21T15:10:00Z [code-fixer]: now", "- 2026-01-01T00:00:00Z [a]:",
	"  - 2026-01-01T00:00:00Z [a]: indented", "- 2026-13-01T00:00:00Z [a]: no month", "a\rb", "\xff\x00",
}

func randomBody(r *rand.Rand, eol string) string {
	var b strings.Builder
	for range r.IntN(14) {
		b.WriteString(someLines[r.IntN(len(someLines))] + eol)
	}
	if r.IntN(5) == 0 {
		return strings.TrimRight(b.String(), "\r\n")
	}
	return b.String()
}

// randomEdit returns what a writer may leave of an entry: lines dropped,
// doubled, moved, added, or everything new.
func randomEdit(r *rand.Rand, body, eol string) string {
	lines := strings.SplitAfter(body, "\n")
	for range r.IntN(4) {
		i := r.IntN(len(lines))
		switch r.IntN(4) {
		case 0:
			lines = append(lines[:i:i], lines[i+1:]...)
		case 1:
			lines[i], lines[0] = lines[0], lines[i]
		case 2:
			lines = append(lines[:i:i], append([]string{someLines[r.IntN(len(someLines))] + eol}, lines[i:]...)...)
		case 3:
			lines = append(lines, randomBody(r, eol))
		}
		if len(lines) == 0 {
			return randomBody(r, eol)
		}
	}
	return strings.Join(lines, "")
}

// A chain of saves of one entry keeps what holds of each, and with it every
// line that the first had.
func TestChainsOfRandomSavesLoseNoLine(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		eol := []string{"\n", "\r\n"}[r.IntN(2)]
		head := strings.ReplaceAll(front, "\n", eol)
		now := head + randomBody(r, eol)
		first := ChangelogLines([]byte(now))
		for range 4 {
			a := someAuthor
			a.Over = []string{"", "", "other"}[r.IntN(3)]
			new := head + randomEdit(r, strings.TrimPrefix(now, head), eol)
			checkMerge(t, []byte(now), []byte(new), a)
			merged, _ := Merge([]byte(now), []byte(new), a)
			checkBody(t, []byte(now), []byte(new), merged)
			now = string(merged)
		}
		if last := ChangelogLines([]byte(now)); !subsequence(first, last) {
			t.Fatalf("seed %d: %q became %q", seed, first, last)
		}
	}
}
