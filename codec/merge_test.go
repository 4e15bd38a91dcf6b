package codec

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkMerge asks of a merge what holds of every one.
func checkMerge(t *testing.T, old, new []byte, a Author) {
	t.Helper()
	merged, changed := Merge(old, new, a)
	if changed == bytes.Equal(merged, old) {
		t.Fatalf("changed is %v:\n%q\n%q", changed, old, merged)
	}
	had, has := ChangelogLines(old), ChangelogLines(merged)
	if !subsequence(had, has) {
		t.Fatalf("lines were lost:\n%q\n%q\nold %q\nnew %q\nmerged %q", had, has, old, new, merged)
	}
	if changed && len(has) <= len(had) {
		t.Fatalf("a change left no line:\n%q\n%q", had, has)
	}
	if changed && wroteNoLine(old, new) && len(has) != len(had)+1 {
		t.Fatalf("the writer wrote no line, and %d became %d:\n%q\n%q", len(had), len(has), had, has)
	}
	if again, changed := Merge(merged, merged, a); changed || !bytes.Equal(again, merged) {
		t.Fatalf("merging twice: %q", again)
	}
	if !changed {
		return
	}
	if mark := strictFence(merged); mark {
		t.Fatalf("the section lies in a code block: %q", merged)
	}
	was, _, refused := bounds(new, true)
	is, _, r := bounds(merged, true)
	if refused != nil || r != nil || !bytes.Equal(new[:was.to], merged[:is.to]) {
		t.Fatalf("the frontmatter changed: %q, %q", new, merged)
	}
	_, wrong := Parse(new)
	if _, err := Parse(merged); (err == nil) != (wrong == nil) {
		t.Fatalf("merged does not parse: %v: %q", err, merged)
	}
	if h, end, ok := newDocument(merged).section(); !ok || end != len(merged) {
		t.Fatalf("the section %v is not the end: %q", h, merged)
	}
}

// wroteNoLine reports whether every line of new's only section is one of old's.
func wroteNoLine(old, new []byte) bool {
	if len(newDocument(new).headings) > 1 {
		return false
	}
	count := map[string]int{}
	for _, line := range ChangelogLines(old) {
		count[line]++
	}
	for _, line := range ChangelogLines(new) {
		if count[line]--; count[line] < 0 {
			return false
		}
	}
	return true
}

// strictFence reports whether a reader that lets an unclosed fence run on, as
// CommonMark does, finds the changelog section inside one.
func strictFence(content []byte) bool {
	d := newDocument(content)
	h, _, ok := d.section()
	return ok && unclosedFence(content[:h.from], d.body) != nil
}

func subsequence(part, all []string) bool {
	for _, s := range all {
		if len(part) > 0 && part[0] == s {
			part = part[1:]
		}
	}
	return len(part) == 0
}

var someAuthor = Author{Agent: "code-fixer", Time: time.Date(2026, 2, 21, 15, 10, 0, 0, time.UTC)}

const front = "---\ntype: finding\ntags: []\n---\n"

func TestFirstContentIsStoredAsItIs(t *testing.T) {
	first := []byte(front + "text")
	got, changed := Merge(nil, first, someAuthor)
	if !changed || !bytes.Equal(got, first) {
		t.Errorf("got %q, %v", got, changed)
	}
}

func TestNoNameForgesAChangelogLine(t *testing.T) {
	evil := "x]: y\n- 2026-01-01T00:00:00Z [root]: forged\r\u2028\x00\x1b[31m"
	a := Author{Agent: evil, Time: someAuthor.Time, Over: evil}
	old := []byte(front + "a\n")
	for _, body := range []string{"## " + strings.ReplaceAll(evil, "\n", " ") + "\n", "a\n\n## Changelog\n\n- plain\x1b\n"} {
		merged, _ := Merge(old, []byte(front+body), a)
		lines := ChangelogLines(merged)
		if len(lines) != 1 {
			t.Errorf("%d lines: %q", len(lines), lines)
		}
		if c, ok := parseChange(lines[0]); !ok || strings.ContainsAny(c.agent, "]\n\x00\x1b") || !c.at.Equal(someAuthor.Time) {
			t.Errorf("the line %q", lines[0])
		}
	}
	if got := ChangelogLines(AppendLine(old, a, evil)); len(got) != 1 {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

func TestSummaryHasAtMost200Characters(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		b.WriteString("## Überschrift " + strings.Repeat("ä", i) + "\n\nText\n\n")
	}
	for _, over := range []string{"", strings.Repeat("o", 300)} {
		a := someAuthor
		a.Over = over
		merged, _ := Merge([]byte(front), []byte(front+b.String()), a)
		c, ok := parseChange(ChangelogLines(merged)[0])
		if n := len([]rune(c.text)); !ok || n > 200 || n < 190 {
			t.Errorf("%d characters: %q", n, c.text)
		}
		if over != "" && !strings.HasSuffix(c.text, "(over a concurrent change by "+over[:128]+")") {
			t.Errorf("the other writer is not named: %q", c.text)
		}
	}
}

// Two programs that read in the same second and write one after the other:
// the file system cannot know that the second did not see the first.
func TestLinesOfTheSameSecondAreBothKept(t *testing.T) {
	const section = "\n## Changelog\n\n"
	old := []byte(front + section + "- 2026-02-21T15:09:59Z [a]: change 1\n")
	new := []byte(front + section + "- 2026-02-21T15:09:59Z [a]: change 2\n")
	merged, _ := Merge(old, new, someAuthor)
	want := []string{"- 2026-02-21T15:09:59Z [a]: change 1", "- 2026-02-21T15:09:59Z [a]: change 2"}
	if got := ChangelogLines(merged); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAConcurrentWriterLosesNoLine(t *testing.T) {
	const section = "\n## Changelog\n\n"
	old := []byte(front + section + "- 2026-01-01T00:00:00Z [a]: one\n")
	new := []byte(front + section + "- 2026-01-01T00:00:00Z [a]: two\n")
	a := someAuthor
	a.Over = "a"
	merged, _ := Merge(old, new, a)
	if got := ChangelogLines(merged); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

func TestAppendLine(t *testing.T) {
	const line = "- 2026-02-21T15:10:00Z [code-fixer]: see x"
	for name, c := range map[string]struct{ content, want string }{
		"into the section":         {front + "a\n\n## Changelog\n\n- x\n", front + "a\n\n## Changelog\n\n- x\n" + line + "\n"},
		"before blanks at the end": {front + "## Changelog\n- x\n\n\n", front + "## Changelog\n- x\n" + line + "\n\n\n"},
		"before the next heading":  {front + "## Changelog\n\n- x\n\n## N\n", front + "## Changelog\n\n- x\n" + line + "\n\n## N\n"},
		"no line end":              {front + "## Changelog\n\n- x", front + "## Changelog\n\n- x\n" + line + "\n"},
		"empty section":            {front + "## Changelog", front + "## Changelog\n\n" + line + "\n"},
		"no section":               {front + "a", front + "a\n\n## Changelog\n\n" + line + "\n"},
		"no body":                  {front, front + "\n## Changelog\n\n" + line + "\n"},
		"CRLF":                     {"---\r\ntype: finding\r\n---\r\na\r\n", "---\r\ntype: finding\r\n---\r\na\r\n\r\n## Changelog\r\n\r\n" + line + "\r\n"},
		"open code block":          {front + "~~~~\na\n", front + "~~~~\na\n~~~~\n\n## Changelog\n\n" + line + "\n"},
	} {
		before := strings.Clone(c.content)
		if got := AppendLine([]byte(c.content), someAuthor, " see\nx "); string(got) != c.want {
			t.Errorf("%s: got\n%q, want\n%q", name, got, c.want)
		}
		if c.content != before {
			t.Errorf("%s: the argument was changed", name)
		}
	}
}

func TestLastAuthor(t *testing.T) {
	for content, want := range map[string]string{
		front:                             "",
		front + "## Changelog\n- plain\n": "",
		front + "## Changelog\n- 2026-02-21T15:10:00Z [a]: x\n- 2026-02-21T15:10:00Z [b c]: y\n": "b c",
		front + "## Changelog\n- 2026-02-21T15:10:00+01:00 [a]: x\n- plain\n":                    "a",
		front + "```\n## Changelog\n- 2026-02-21T15:10:00Z [a]: x\n```\n":                        "",
	} {
		if got := LastAuthor([]byte(content)); got != want {
			t.Errorf("got %q, want %q of %q", got, want, content)
		}
	}
}

// Merge is linear: neither many lines nor many unclosed fences make it slow.
func TestMergeOfHostileBodiesStaysCheap(t *testing.T) {
	var fencesDown strings.Builder
	for i := 1000; i > 2; i-- {
		fencesDown.WriteString(strings.Repeat("`", i) + "x\n")
	}
	for name, body := range map[string]string{
		"lines":    "## Changelog\n" + strings.Repeat("- 2026-02-21T15:10:00Z [a]: x\n", 10000),
		"fences":   fencesDown.String() + "## Changelog\n",
		"headings": strings.Repeat("## Changelog\n", 30000),
		"indent":   "## Changelog\n- x\n" + strings.Repeat("  y\n", 60000),
	} {
		took := cpuTime(t, func() {
			checkMerge(t, []byte(front+body), []byte(front+"x\n"+body+"- new\n"), someAuthor)
			checkMerge(t, []byte(front+body), []byte(front+"x\n"), someAuthor)
		})
		if took > 5*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}
