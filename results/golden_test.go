package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"ctxfs/codec"
)

var update = flag.Bool("update", false, "write what is got into the golden cases")

// The cases under testdata/results are txtar archives, one case a file, named
// after what it shows: the result's file under its name, and "want": in valid
// its line in .list, in invalid the text of the refusal.
func goldenCases(t *testing.T, kind string, run func(t *testing.T, name string, content []byte) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../testdata/results", kind, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases of %s: %v", kind, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(raw)
			if *update && len(a.Files) == 1 {
				a.Files = append(a.Files, txtar.File{Name: "want"})
			}
			if len(a.Files) != 2 || a.Files[1].Name != "want" {
				t.Fatal("a case has a result and its want")
			}
			got := run(t, a.Files[0].Name, a.Files[0].Data)
			if *update {
				a.Files[1].Data = []byte(got + "\n")
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := strings.TrimSuffix(string(a.Files[1].Data), "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestValidResultsAreDescribedFromTheirContent(t *testing.T) {
	goldenCases(t, "valid", func(t *testing.T, name string, content []byte) string {
		l, err := Check(name, bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if l.SizeBytes != int64(len(content)) || l.Filepath != "results/"+name {
			t.Errorf("%d bytes at %s", l.SizeBytes, l.Filepath)
		}
		if err := checkName(name); err != nil {
			t.Error(err)
		}
		line, err := encode(l)
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	})
}

func TestInvalidResultsAreRefusedWithWhereWhyAndHowToMend(t *testing.T) {
	goldenCases(t, "invalid", func(t *testing.T, name string, content []byte) string {
		_, err := Check(name, bytes.NewReader(content))
		var r *codec.Refusal
		if !errors.As(err, &r) {
			t.Fatalf("got %v, want a refusal", err)
		}
		if r.Errno != syscall.EINVAL || r.Reason == "" || r.Fix == "" || r.Path != "results/"+name {
			t.Errorf("errno %v, path %q, reason %q, fix %q", r.Errno, r.Path, r.Reason, r.Fix)
		}
		return r.Error()
	})
}

// What the scanner takes is what encoding/json takes.
func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range []string{`{}`, `[]`, `[1,2]`, `[1,]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `01`, `-0`, `-`, `1.`, `.5`, `1e`, `1e+5`, `1E-2`, `0.0`,
		`tru`, `true`, `nul`, `nulL`, `"a`, `"\x"`, `"\u12"`, `"\u12G4"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00x"`, "\"a\nb\"", `[[[]]]`, `[[]`, ` [ ] `, `{"a":{"b":[null,false]}}`,
		`"é"`, `1 2`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`, `]`, `,`, ``} {
		s := newScanner(strings.NewReader(text))
		_, err := s.value(2, 20)
		if err == nil {
			if _, more := s.token(); more == nil {
				err = errors.New("more")
			}
		}
		if want := json.Valid([]byte(text)); (err == nil) != want {
			t.Errorf("%q: %v, want valid %v", text, err, want)
		}
	}
}
