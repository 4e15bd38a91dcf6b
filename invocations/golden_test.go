package invocations

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
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/txtar"

	"ctxfs/codec"
)

var update = flag.Bool("update", false, "write what is got into the golden cases")

// The cases under testdata/invocations are txtar archives, one case a file,
// named after what it shows: "line", and but for valid "want": what is stored,
// or the text of the refusal.
func goldenCases(t *testing.T, kind string, run func(t *testing.T, line []byte) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../testdata/invocations", kind, "*.txtar"))
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
			if *update && kind != "valid" && len(a.Files) == 1 {
				a.Files = append(a.Files, txtar.File{Name: "want"})
			}
			want := a.Files[0].Data
			if kind != "valid" {
				want = a.Files[1].Data
			}
			got := run(t, a.Files[0].Data)
			if *update && kind != "valid" {
				a.Files[1].Data = []byte(got + "\n")
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got+"\n" != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestWholeLinesAreStoredByteForByte(t *testing.T) {
	goldenCases(t, "valid", func(t *testing.T, line []byte) string {
		done, err := complete(line, now, newID)
		if err != nil {
			t.Fatal(err)
		}
		return string(done)
	})
}

func TestMissingFieldsAreFilledIn(t *testing.T) {
	goldenCases(t, "complete", func(t *testing.T, line []byte) string {
		done, err := complete(line, now, newID)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := complete(done, now, newID); err != nil || !bytes.Equal(again, done) {
			t.Errorf("completed again: %s, %v", again, err)
		}
		return string(done)
	})
}

func TestInvalidLinesAreRefusedWithFieldReasonAndFix(t *testing.T) {
	goldenCases(t, "invalid", func(t *testing.T, line []byte) string {
		_, err := complete(line, now, newID)
		var r *codec.Refusal
		if !errors.As(err, &r) {
			t.Fatalf("got %v, want a refusal", err)
		}
		if r.Errno != syscall.EINVAL || r.Reason == "" || r.Fix == "" || r.Path != "invocations/context.jsonl" {
			t.Errorf("errno %v, path %q, reason %q, fix %q", r.Errno, r.Path, r.Reason, r.Fix)
		}
		return r.Error()
	})
}

func TestEntryIsWrittenFieldForField(t *testing.T) {
	text := "Searched for auth"
	e := Entry{ToolName: "grep", Params: json.RawMessage("{\n  \"pattern\": \"<auth>\"\n}"), Result: json.RawMessage(`{"matches":15}`), Summary: &text,
		Timestamp: time.Date(2025, 12, 18, 11, 30, 0, 0, time.FixedZone("", 3600)), ID: uuid.MustParse("7d444840-9dc0-11d1-b245-5ffdce74fad2"),
		Extra: []Field{{"z", json.RawMessage("1")}, {"a", nil}}}
	got, err := e.MarshalJSON()
	want := `{"tool_name":"grep","params":{"pattern":"<auth>"},"result":{"matches":15},"success":true,"summary":"Searched for auth",` +
		`"timestamp":"2025-12-18T10:30:00Z","id":"7d444840-9dc0-11d1-b245-5ffdce74fad2","z":1,"a":null}`
	if err != nil || string(got) != want {
		t.Fatalf("got %s, %v", got, err)
	}
	var back Entry
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	again, err := back.MarshalJSON()
	if err != nil || string(again) != want {
		t.Errorf("read and written again: %s, %v", again, err)
	}
}
