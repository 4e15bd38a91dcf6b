package codec

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

func TestRefusalIsOneLine(t *testing.T) {
	for want, r := range map[string]Refusal{
		"agent/x.md:4: type: type is missing (add it)": {Path: "agent/x.md", Line: 4, Field: "type", Reason: "type is missing", Fix: "add it"},
		"line 4: type: bad":                            {Line: 4, Field: "type", Reason: "bad"},
		"agent/x.md: bad (mend)":                       {Path: "agent/x.md", Reason: "bad", Fix: "mend"},
		"bad":                                          {Reason: "bad"},
		"a b: bad thing":                               {Path: "a\nb", Reason: "bad\nthing\x1b"},
	} {
		if got := r.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := error(&Refusal{Errno: syscall.EPERM}); !errors.Is(err, syscall.EPERM) {
		t.Error("the errno is not found")
	}
}

func TestRefusalsQuoteLittleOfTheWritersText(t *testing.T) {
	_, err := Complete([]byte("---\ntype: \"\\e[31m"+strings.Repeat("x", 5000)+"\"\n---\n"), fuzzKnown)
	if got := err.Error(); len(got) > 300 || strings.Contains(got, "\x1b") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestRejFileSaysWhereWhyAndHow(t *testing.T) {
	r := &Refusal{Errno: syscall.EINVAL, Path: "agent/x.md", Line: 2, Field: "type", Reason: "type is \"x\"", Fix: "write `type: finding`"}
	want := `# ctxfs refused this draft of agent/x.md: EINVAL
# wrong: type: type is "x" (line 2 of the draft, line 8 of this file)
# to mend: write ` + "`type: finding`" + `
# The draft follows below the empty line. Write it, mended, without these lines,
# to agent/x.md; this file goes away then.

---
type: x
---
`
	if got := string(RejFile(r, []byte("---\ntype: x\n---\n"))); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if line := strings.Split(want, "\n")[7]; line != "type: x" {
		t.Errorf("line 8 is %q", line)
	}
}

func TestOtherFilesAreNoRejFiles(t *testing.T) {
	for _, s := range []string{"", "# title\n\ntext", "---\ntype: x\n---\n", rejMark, rejMark + "\n", rejMark + "\ntext\n\n"} {
		if _, ok := RejDraft([]byte(s)); ok {
			t.Errorf("%q", s)
		}
	}
}
