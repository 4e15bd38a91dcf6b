package invocations

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// What is accepted is one line that reads as before, completed for good.
func FuzzComplete(f *testing.F) {
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
