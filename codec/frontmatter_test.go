package codec

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestFirstBytesDecideAtOnce(t *testing.T) {
	for prefix, want := range map[string]string{
		"": "open", "-": "open", "--": "open", "---": "open", "---\r": "open", "---\n": "open", "---\r\n": "open",
		"\xef": "open", "\xef\xbb": "open", bom: "open", bom + "---\n": "open",
		"---\ntype: finding\n": "open", "---\ntype: finding\n--": "open", "---\ntype: finding\n---": "open",
		"---\ntype: finding\n---\r": "open", "---\ntype: finding\n---\n": "done", "---\r\ntype: finding\r\n---\r\n": "done",
		"---\ntype: finding\n---\n# Text": "done", bom + "---\ntype: finding\n---\n": "done",
		"#": "refused", "hello": "refused", " ---\n": "refused", "\n---\n": "refused", "----": "refused", "--- \n": "refused", "---\rx": "refused",
		"---\n---\n": "refused", "---\ntype: bug\n---\n": "refused", "---\nagent: other\ntype: finding\n---\n": "refused",
		"\x00": "refused", "\xef\xbbx": "refused", "{": "refused",
	} {
		done, err := CheckPrefix([]byte(prefix), fuzzKnown)
		got := map[bool]string{true: "done", false: "open"}[done]
		if err != nil {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", prefix, got, err, want)
		}
	}
}

func TestPrefixOfAFrontmatterWithoutEndIsRefused(t *testing.T) {
	endless := []byte("---\n" + strings.Repeat("a: 1\n", MaxFrontmatter/5+2))
	if _, err := CheckPrefix(endless[:MaxFrontmatter], fuzzKnown); err != nil {
		t.Errorf("before the limit: %v", err)
	}
	if _, err := CheckPrefix(endless, fuzzKnown); err == nil {
		t.Error("no refusal beyond the limit")
	}
}

func TestFrontmatterAtTheLimitIsAccepted(t *testing.T) {
	for _, over := range []int{0, 1} {
		const rest = "agent: code-reviewer\nsessionId: s\ntimestamp: 2026-02-21T14:30:22Z\ntags: []\ntype: finding\n"
		pad := "pad: " + strings.Repeat("x", MaxFrontmatter-len(rest)-len("pad: \n")+over) + "\n"
		for _, eol := range []string{"\n", ""} {
			_, err := Complete([]byte("---\n"+rest+pad+"---"+eol), fuzzKnown)
			if (err == nil) != (over == 0) {
				t.Errorf("%d bytes too many: %v", over, err)
			}
		}
	}
}

// A writer of single bytes asks after each.
func TestAskingAfterEveryByteIsCheap(t *testing.T) {
	content := []byte("---\n" + strings.Repeat("a", MaxFrontmatter-100) + "\n---\n")
	start := time.Now()
	for n := range content {
		if _, err := CheckPrefix(content[:n], fuzzKnown); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("%v", took)
	}
}

// hostileYAML kills decoders: by memory, by time, by a panic.
func hostileYAML() map[string]string {
	unique, nodes := &strings.Builder{}, &strings.Builder{}
	for i := range 9000 {
		fmt.Fprintf(unique, "%d:\n", i)
	}
	for i := range 5000 {
		fmt.Fprintf(nodes, "- %d\n", i)
	}
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 8), i-1)
	}
	return map[string]string{
		"duplicate keys":  "k: {" + strings.Repeat("k,", 30000) + "}\n",
		"billion laughs":  laughs,
		"merge panic":     "0:\n<<:\n  {}:\n",
		"unique keys":     unique.String(),
		"nodes":           "k:\n" + nodes.String(),
		"deep lists":      "k: " + strings.Repeat("[", 30000) + "\n",
		"deep closed":     "k: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n",
		"deep mappings":   "k: " + strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000) + "\n",
		"deep dashes":     "k:\n" + strings.Repeat("- ", 30000) + "\n",
		"questions":       strings.Repeat("? ", 30000) + "\n",
		"self alias":      "a: &a [*a]\n",
		"key alias":       "a: &a x\n*a : y\n",
		"complex key":     "? [a, b]\n: c\n",
		"long scalar":     "k: \"" + strings.Repeat("\\n", 30000) + "\n",
		"quotes":          "k: " + strings.Repeat("'", 60001) + "\n",
		"tags":            strings.Repeat("!!map ", 10000) + "\n",
		"comments":        strings.Repeat("#\n", 30000) + "k: *x\n",
		"block":           "k: |9\n" + strings.Repeat(" \n", 30000) + "&",
		"colons":          strings.Repeat(": ", 30000) + "\n",
		"binary":          "k: !!binary |\n" + strings.Repeat("  !!\n", 5000) + "k: x\n",
		"directive":       "%YAML 1.1\n",
		"utf-16":          "\xff\xfet\x00",
		"document starts": "a: b\u2028--- x\n",
	}
}

func TestHostileYAMLIsRefusedCheaply(t *testing.T) {
	for name, text := range hostileYAML() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var err error
		took := cpuTime(t, func() {
			_, err = Complete([]byte("---\n"+text+"type: finding\n---\n"), fuzzKnown)
		})
		runtime.ReadMemStats(&after)
		var r *Refusal
		if !errors.As(err, &r) || r.Line == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if took > 2*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
			t.Errorf("%s: allocated %d MB", name, mb)
		}
		if len(err.Error()) > 1000 {
			t.Errorf("%s: a refusal of %d bytes", name, len(err.Error()))
		}
	}
}

func TestMutatedFrontmatterNeverPanics(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	base := []byte("---\nagent: code-reviewer\ntype: finding\ntags: [a, \"b\", 'c']\nlinks:\n  - other/x.md\n---\n# T\n\n## Changelog\n- x\n")
	const marks = "-:[]{}&*!|>'\"%@`#, \n\r\t\x00\xff?a"
	for range 20000 {
		content := bytes.Clone(base)
		for range 1 + random.IntN(4) {
			content[random.IntN(len(content))] = marks[random.IntN(len(marks))]
		}
		done, err := Complete(content, fuzzKnown)
		if err == nil {
			if again, err := Complete(done, fuzzKnown); err != nil || !bytes.Equal(again, done) {
				t.Fatalf("%q → %q → %q, %v", content, done, again, err)
			}
		}
	}
}

func TestSessionsThatLookLikeSomethingElseAreQuoted(t *testing.T) {
	for _, session := range []string{"1234", "yes", "null", "~", "2026-02-21", "a: b", "a #b", "[x", "'", `"`, `\`, "*a", "x:", "ä", "-", "- x", "!x", "%x", "@x", "0x1f", "<<", "=", "|", ">"} {
		k := fuzzKnown
		k.Session = session
		done, err := Complete([]byte("---\ntype: finding\n---\n"), k)
		if err != nil {
			t.Errorf("%q: %v", session, err)
			continue
		}
		if e, err := Parse(done); err != nil || e.Session != session {
			t.Errorf("%q is read back as %q, %v", session, e.Session, err)
		}
	}
}

func TestParse(t *testing.T) {
	content := "---\nagent: 1234\nsessionId: s\ntimestamp: 2026-02-21T15:30:22.5+01:00\ntype: other\ntags: [1, yes]\nlinks:\n- a/x.md\nsupersedes: ['b']\nseverity: high\n---\ntext"
	e, err := Parse([]byte(content))
	want := fmt.Sprintf("%+v", Entry{Agent: "1234", Session: "s", Timestamp: "2026-02-21T15:30:22.5+01:00",
		Time: time.Date(2026, 2, 21, 14, 30, 22, 5e8, time.UTC), Type: "other", Tags: []string{"1", "yes"},
		Links: []string{"a/x.md"}, Supersedes: []string{"b"}, Body: strings.Index(content, "text")})
	if got := fmt.Sprintf("%+v", e); err != nil || got != want {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	for _, wrong := range []string{"", "text", "---\ntags: a\n---\n", "---\ntags: [[a]]\n---\n", "---\ntype: {}\n---\n"} {
		if e, err := Parse([]byte(wrong)); err == nil {
			t.Errorf("%q: %+v", wrong, e)
		}
	}
}
