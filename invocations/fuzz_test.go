package invocations

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// seed adds the cases under testdata/invocations, so that a fuzzer begins with what
// is meant and what is refused.
func seed(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("../testdata/invocations/*/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.Files[0].Data)
	}
}

// What is accepted is one line that reads as before, completed for good.
func FuzzComplete(f *testing.F) {
	seed(f)
	for _, line := range []string{call(1) + "}", call(1) + filled, `{"tool_name":"\ud800","params":[],"result":"é"}`, `{"":1}`, "{}", "[", `{"tool_name":"x","params":1,"result":1,"id":null}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		done, err := complete(line, now, newID)
		if err != nil {
			return
		}
		if bytes.IndexByte(bytes.TrimSpace(line), '\n') < 0 && bytes.IndexByte(done, '\n') >= 0 || !json.Valid(done) {
			t.Fatalf("completed to %q", done)
		}
		again, err := complete(done, now, newID)
		if err != nil || !bytes.Equal(again, done) {
			t.Fatalf("%q completed again: %q, %v", done, again, err)
		}
		e, found, err := parse(done)
		if err != nil || found != (has{true, true, true}) || e.ToolName == "" {
			t.Fatalf("%q: %+v, %v", done, found, err)
		}
		text, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := parse(text); err != nil {
			t.Fatalf("%q is written as %q: %v", done, text, err)
		}
	})
}

func FuzzBackwards(f *testing.F) {
	f.Add([]byte("a\nb\n"), uint16(1))
	f.Add([]byte("\n\na"), uint16(backStep/3))
	f.Fuzz(func(t *testing.T, text []byte, times uint16) {
		text = bytes.Repeat(text, 1+int(times)%64)
		if got, want := readBackwards(t, text), forwards(string(text)); !slices.Equal(got, want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
	})
}
