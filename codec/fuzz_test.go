package codec

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// seeds adds every content of the golden cases, so that a fuzzer begins with
// entries and not with noise.
func seeds(f *testing.F, parts ...string) (all [][]byte) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(entriesDir, "*", "*.txtar"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds in %s: %v", entriesDir, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range txtar.Parse(raw).Files {
			for _, want := range parts {
				if part.Name == want {
					all = append(all, part.Data)
				}
			}
		}
	}
	return all
}

var fuzzKnown = Known{Agent: "code-reviewer", SessionDir: "s1", Session: "a1b2", Time: time.Date(2026, 2, 21, 14, 30, 22, 0, time.UTC)}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f, "entry", "old", "new") {
		f.Add(s)
	}
	for _, text := range hostileYAML() {
		f.Add([]byte("---\n" + text[:min(len(text), 1000)] + "\n---\n"))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		e, err := Parse(content)
		var r *Refusal
		if err != nil && (!errors.As(err, &r) || r.Reason == "" || strings.ContainsAny(r.Error(), "\n\x00\x1b")) {
			t.Fatalf("the error %q", err)
		}
		if err == nil && (e.Body < len("---\n---") || e.Body > len(content)) {
			t.Fatalf("body at %d of %d", e.Body, len(content))
		}
		// What a growing prefix is told must not contradict the whole.
		_, whole := Complete(content, fuzzKnown)
		for n := 0; n <= len(content); n += 1 + len(content)/50 {
			done, err := CheckPrefix(content[:n], fuzzKnown)
			if whole == nil && err != nil || whole != nil && done {
				t.Fatalf("at %d: %v, %v, but the whole: %v", n, done, err, whole)
			}
			if done {
				break
			}
		}
	})
}

func FuzzComplete(f *testing.F) {
	for _, s := range seeds(f, "entry", "want") {
		f.Add(s, "s1", "a1b2")
	}
	f.Fuzz(func(t *testing.T, content []byte, dir, session string) {
		k := fuzzKnown
		k.SessionDir, k.Session = dir, session
		done, err := Complete(content, k)
		if err != nil {
			return
		}
		again, err := Complete(done, k)
		if err != nil || !bytes.Equal(again, done) {
			t.Fatalf("completing again: %q → %q, %v", done, again, err)
		}
		k.Strict = true
		if _, err := Complete(done, k); err != nil {
			t.Fatalf("what was filled in is not complete: %v: %q", err, done)
		}
		was, _, _ := bounds(content, true)
		is, _, _ := bounds(done, true)
		if !bytes.Equal(content[was.to:], done[is.to:]) || !linesOf(content[:was.to], done[:is.to]) {
			t.Fatalf("bytes were changed: %q → %q", content, done)
		}
	})
}

// linesOf reports whether more has the lines of less, in order.
func linesOf(less, more []byte) bool {
	return subsequence(strings.SplitAfter(string(less), "\n"), strings.SplitAfter(string(more), "\n"))
}

func FuzzMerge(f *testing.F) {
	all := seeds(f, "old", "new", "want")
	for i := 0; i+1 < len(all); i++ {
		f.Add(all[i], all[i+1], "code-fixer", "", int64(1771686600))
		f.Add(all[i+1], all[i], "a]\nb", "other", int64(0))
	}
	f.Fuzz(func(t *testing.T, old, new []byte, agent, over string, at int64) {
		// Years that ISO 8601 writes with four digits.
		a := Author{Agent: agent, Over: over, Time: time.Unix(at%250000000000, 0)}
		if a.Time.UTC().Year() < 0 {
			return
		}
		for _, content := range [][]byte{old, new} {
			if _, _, r := bounds(content, true); r != nil {
				return
			}
		}
		checkMerge(t, old, new, a)
		merged, _ := Merge(old, new, a)
		checkMerge(t, merged, new, a)
		checkMerge(t, merged, old, a)
		appended := AppendLine(old, a, agent+over)
		if had, has := ChangelogLines(old), ChangelogLines(appended); len(has) != len(had)+1 || !subsequence(had, has) {
			t.Fatalf("AppendLine made %q of %q", has, had)
		}
		checkBody(t, old, new, merged)
	})
}

// checkBody asks that each line of new's body is in merged: text is moved,
// never dropped.
func checkBody(t *testing.T, old, new, merged []byte) {
	t.Helper()
	count := map[string]int{}
	for line := range bytes.Lines(merged) {
		count[string(trimLine(line))]++
	}
	d := newDocument(new)
	if n := len(d.headings); n > 1 || n > 0 && bytes.Equal(merged, old) {
		return
	}
	end := len(new)
	if h, _, ok := d.section(); ok {
		end = h.from
	}
	for line := range bytes.Lines(bytes.TrimRight(new[:end], " \t\r\n")) {
		text := string(trimLine(line))
		if count[text]--; count[text] < 0 {
			t.Fatalf("the line %q was lost: %q → %q", text, new, merged)
		}
	}
}

func FuzzAddLink(f *testing.F) {
	for _, s := range seeds(f, "entry", "want") {
		f.Add(s, "other-agent/20260221T143022-x.md")
	}
	f.Fuzz(func(t *testing.T, content []byte, link string) {
		out, err := AddLink(content, link)
		if err != nil {
			return
		}
		before, err := Parse(content)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Parse(out)
		if err != nil || !contains(after.Links, link) || len(after.Links) > len(before.Links)+1 {
			t.Fatalf("%q, %v", after.Links, err)
		}
		if !bytes.Equal(content[before.Body:], out[after.Body:]) || before.Type != after.Type {
			t.Fatalf("other bytes changed: %q → %q", content, out)
		}
		if again, err := AddLink(out, link); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("adding again: %q, %v", again, err)
		}
	})
}

func FuzzEntryName(f *testing.F) {
	for name := range entryNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := CheckEntryName(name)
		at, ok := NameTime(name)
		if ok != (err == nil) || ok && (!IsEntry(name) || !strings.HasPrefix(name, at.Format(nameLayout))) {
			t.Fatalf("%q: %v, %v, %v", name, err, at, ok)
		}
		if err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Fatalf("%q: %v", name, err)
		}
		label := CleanLabel(name)
		if CleanLabel(label) != label || len(label) > 128 || strings.ContainsAny(label, "]\n\r\x00\x1b") {
			t.Fatalf("the label %q of %q", label, name)
		}
		if CheckDirName(name) == nil && label != name {
			t.Fatalf("the directory name %q is no label: %q", name, label)
		}
	})
}

func FuzzResolveLink(f *testing.F) {
	for link := range links {
		f.Add("agent/session", link)
	}
	f.Fuzz(func(t *testing.T, dir, link string) {
		if CheckDirName(strings.ReplaceAll(dir, "/", "")) != nil || filepath.Clean(dir) != dir || filepath.IsAbs(dir) || strings.Count(dir, "/") > 1 {
			return
		}
		path, err := ResolveLink(dir, link)
		if err != nil {
			return
		}
		if !filepath.IsLocal(path) || path == "." || filepath.Clean(path) != path {
			t.Fatalf("%q in %q is %q", link, dir, path)
		}
	})
}

func FuzzRejFile(f *testing.F) {
	f.Add("agent/x.md", 3, "type", "type is missing", "add it", []byte("---\n"))
	f.Add("", 0, "", "a\nb", "\n\n", []byte("# x\n\n"))
	f.Fuzz(func(t *testing.T, path string, line int, field, reason, fix string, draft []byte) {
		rej := RejFile(&Refusal{Errno: syscall.EINVAL, Path: path, Line: line, Field: field, Reason: reason, Fix: fix}, draft)
		got, ok := RejDraft(rej)
		if !ok || !bytes.Equal(got, draft) {
			t.Fatalf("%q, %v of %q", got, ok, rej)
		}
		for note := range bytes.Lines(rej[:len(rej)-len(draft)-1]) {
			if !bytes.HasPrefix(note, []byte("# ")) {
				t.Fatalf("the line %q", note)
			}
		}
	})
}
