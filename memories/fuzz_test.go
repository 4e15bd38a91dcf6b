package memories

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func seed(f *testing.F, kind string) {
	ins, err := filepath.Glob(filepath.Join("../testdata/memories", kind, "*.in"))
	if err != nil || len(ins) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, in := range ins {
		text, err := os.ReadFile(in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
}

// What is accepted becomes one line of JSON that begins as it was written,
// and that comes apart into the same again.
func FuzzParseEntry(f *testing.F) {
	seed(f, "line")
	snapshot := []byte(`{"activeContext":"x"}`)
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := ParseEntry(in)
		if err != nil {
			return
		}
		given := e.ID != ""
		if !given {
			e.ID = "id"
		}
		line := e.stored(time.Unix(0, 0), given, snapshot)
		if !json.Valid(line) || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("%q became %q", in, line)
		}
		entry, shot, id, err := split(line)
		if err != nil || !bytes.Equal(shot, snapshot) || id != e.ID {
			t.Fatalf("%q comes apart into %q, %q, %q, %v", line, entry, shot, id, err)
		}
		var was, is map[string]json.RawMessage
		if json.Unmarshal(e.Raw, &was) != nil || json.Unmarshal(entry, &is) != nil {
			t.Fatalf("%q is no object", entry)
		}
		for k, v := range was {
			if !bytes.Equal(is[k], v) {
				t.Fatalf("field %q was %q and is %q", k, v, is[k])
			}
		}
		body, key, err := requestBody("m", line)
		if err != nil || key != e.ID || !json.Valid(body) {
			t.Fatalf("%q makes the request %q, %v", line, body, err)
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	seed(f, "snapshot")
	f.Fuzz(func(t *testing.T, in []byte) {
		line, ok := parseSnapshot(in)
		if ok && (!json.Valid(line) || bytes.ContainsAny(line, "\r\n")) {
			t.Fatalf("%q became %q", in, line)
		}
		if _, ok := parseSnapshot(snapshotOf(string(in))); !ok {
			t.Fatalf("the snapshot of %q is malformed", in)
		}
	})
}
