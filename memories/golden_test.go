package memories

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each case is testdata/memories/<kind>/NAME.in with what comes of it in
// NAME.out. A new case is a new .in, and a run with -update.
func TestGolden(t *testing.T) {
	for kind, f := range map[string]func([]byte) []byte{
		"line":     goldenLine,
		"snapshot": goldenSnapshot,
		"request":  goldenRequest,
	} {
		ins, err := filepath.Glob(filepath.Join("../testdata/memories", kind, "*.in"))
		if err != nil || len(ins) == 0 {
			t.Fatalf("no cases of %s: %v", kind, err)
		}
		for _, in := range ins {
			t.Run(kind+"/"+strings.TrimSuffix(filepath.Base(in), ".in"), func(t *testing.T) {
				text, err := os.ReadFile(in)
				if err != nil {
					t.Fatal(err)
				}
				got, out := f(text), strings.TrimSuffix(in, ".in")+".out"
				if *update {
					if err := os.WriteFile(out, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(out)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s: %v\ngot  %s\nwant %s", out, err, got, want)
				}
			})
		}
	}
}

// goldenLine is what becomes of a line that is appended to entries.jsonl.
func goldenLine(in []byte) []byte {
	e, err := ParseEntry(in)
	if err != nil {
		return []byte("refused: " + err.Error() + "\n")
	}
	given := e.ID != ""
	if !given {
		e.ID = "the-id"
	}
	return e.stored(time.Date(2026, 2, 21, 14, 30, 22, 123456789, time.UTC), given, []byte(`{"activeContext":"The plan."}`))
}

// goldenSnapshot is what entries carry of a context.json.
func goldenSnapshot(in []byte) []byte {
	line, ok := parseSnapshot(in)
	if !ok {
		return []byte("malformed\n")
	}
	return append(line, '\n')
}

// goldenRequest is what the backend gets for a stored line.
func goldenRequest(in []byte) []byte {
	body, key, err := requestBody("m1", in)
	if err != nil {
		return []byte("none of ours: " + err.Error() + "\n")
	}
	var b bytes.Buffer
	b.WriteString(KeyHeader + ": " + key + "\n\n")
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return []byte(err.Error())
	}
	return b.Bytes()
}
