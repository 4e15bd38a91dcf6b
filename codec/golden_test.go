package codec

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// The cases under testdata/entries are txtar archives, one case a file, named
// after what it shows. Their parts:
//
//	known    what the file system knows: "agent: x", "sessionDir: x",
//	         "session: x", "time: 20260221T143022", "strict: true"
//	author   "agent: x", "time: …", "over: x"
//	entry, old, new, want    contents
//	refusal  the text of the refusal
//	changelog  what ChangelogLines makes of want
//	unchanged  (empty) nothing is to be committed
//
// A part whose name ends in ".q" is written as Go strings, one a line, which
// are put together: for bytes that a text file does not keep.
const entriesDir = "../testdata/entries"

type goldenCase map[string][]byte

func goldenCases(t *testing.T, dir string, run func(t *testing.T, c goldenCase)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(entriesDir, dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s/%s: %v", entriesDir, dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { run(t, readCase(t, file)) })
	}
}

func readCase(t *testing.T, file string) goldenCase {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := goldenCase{}
	for _, part := range txtar.Parse(raw).Files {
		name, quoted := strings.CutSuffix(part.Name, ".q")
		data := part.Data
		if quoted {
			data = unquoteLines(t, data)
		}
		if data == nil {
			data = []byte{}
		}
		c[name] = data
	}
	return c
}

func unquoteLines(t *testing.T, data []byte) []byte {
	t.Helper()
	var out []byte
	for line := range strings.Lines(string(data)) {
		s, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, s...)
	}
	return out
}

// part returns a part that the case must have.
func (c goldenCase) part(t *testing.T, name string) []byte {
	t.Helper()
	data, ok := c[name]
	if !ok {
		t.Fatalf("the case has no part %q", name)
	}
	return data
}

// settings reads "key: value" lines.
func (c goldenCase) settings(t *testing.T, name string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(string(c.part(t, name))) {
		k, v, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("%s: %q is not key: value", name, line)
		}
		all[k] = v
	}
	return all
}

func (c goldenCase) known(t *testing.T) Known {
	t.Helper()
	s := c.settings(t, "known")
	k := Known{Agent: s["agent"], SessionDir: s["sessionDir"], Session: s["session"], Strict: s["strict"] == "true"}
	if s["time"] != "" {
		k.Time = mustTime(t, nameLayout, s["time"])
	}
	return k
}

func (c goldenCase) author(t *testing.T) Author {
	t.Helper()
	s := c.settings(t, "author")
	return Author{Agent: s["agent"], Over: s["over"], Time: mustTime(t, time.RFC3339, s["time"])}
}

func mustTime(t *testing.T, layout, s string) time.Time {
	t.Helper()
	at, err := time.Parse(layout, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestValidEntriesAreStoredByteForByte(t *testing.T) {
	goldenCases(t, "valid", func(t *testing.T, c goldenCase) {
		entry := c.part(t, "entry")
		got, err := Complete(entry, c.known(t))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, entry) {
			t.Errorf("got:\n%q\nwant:\n%q", got, entry)
		}
		if done, err := CheckPrefix(entry, c.known(t)); err != nil || !done && bytes.HasSuffix(entry, []byte("\n")) {
			t.Errorf("CheckPrefix of the whole: %v, %v", done, err)
		}
		if _, err := Parse(entry); err != nil {
			t.Errorf("Parse: %v", err)
		}
	})
}

func TestInvalidEntriesAreRefusedWithWhereWhyAndHowToMend(t *testing.T) {
	goldenCases(t, "invalid", func(t *testing.T, c goldenCase) {
		_, err := Complete(c.part(t, "entry"), c.known(t))
		var r *Refusal
		if !errors.As(err, &r) {
			t.Fatalf("got %v, want a refusal", err)
		}
		if want := strings.TrimSpace(string(c.part(t, "refusal"))); r.Error() != want {
			t.Errorf("got:\n%s\nwant:\n%s", r, want)
		}
		if !errors.Is(err, syscall.EINVAL) || r.Reason == "" || r.Fix == "" {
			t.Errorf("errno %v, reason %q, fix %q", r.Errno, r.Reason, r.Fix)
		}
	})
}

func TestWhatTheFileSystemKnowsIsFilledIn(t *testing.T) {
	goldenCases(t, "complete", func(t *testing.T, c goldenCase) {
		got, err := Complete(c.part(t, "entry"), c.known(t))
		if err != nil {
			t.Fatal(err)
		}
		if want := c.part(t, "want"); !bytes.Equal(got, want) {
			t.Errorf("got:\n%q\nwant:\n%q", got, want)
		}
		again, err := Complete(got, c.known(t))
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("completing again: %q, %v", again, err)
		}
	})
}

func TestOverwriting(t *testing.T) {
	goldenCases(t, "overwrite", func(t *testing.T, c goldenCase) {
		old, new := c.part(t, "old"), c.part(t, "new")
		got, changed := Merge(old, new, c.author(t))
		want := old
		if _, same := c["unchanged"]; !same {
			want = c.part(t, "want")
		}
		if !bytes.Equal(got, want) {
			t.Errorf("got:\n%s\nwant:\n%s\n%q\n%q", got, want, got, want)
		}
		if _, same := c["unchanged"]; changed == same {
			t.Errorf("changed = %v", changed)
		}
		checkMerge(t, old, new, c.author(t))
	})
}
