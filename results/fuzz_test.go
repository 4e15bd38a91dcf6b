package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

// seed adds the cases under testdata/results, so that a fuzzer begins with what
// is meant and what is refused.
func seed(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("../testdata/results/*/*.txtar")
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

// The scanner takes what encoding/json takes, but for what is not UTF-8, and
// reads the same however the text comes.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{grepOf(3), `{"a":[1,{"b":"\ud83d\ude00\n"}],"c":-0.5e+7}`, `"é\u00e9"`, "[1,", "\x00", `{"a":tru`, `1e`, "\"\xff\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		scan := func(s *scanner) (shape, error) {
			v, err := s.value(2, 20)
			if err == nil {
				if _, more := s.token(); more == nil {
					err = errors.New("more")
				}
			}
			return v, err
		}
		v, err := scan(newScanner(bytes.NewReader(content)))
		deep := err != nil && strings.Contains(err.Error(), "deeper")
		if valid := json.Valid(content); !deep && (err == nil) != (valid && utf8.Valid(content)) {
			t.Fatalf("%q: %v, valid %v", content, err, valid)
		}
		again, bytewise := scan(newScanner(iotest.OneByteReader(bytes.NewReader(content))))
		if (err == nil) != (bytewise == nil) || err == nil && (v.size != again.size || v.count != again.count || v.text != again.text) {
			t.Fatalf("%q: %+v, %v; byte by byte %+v, %v", content, v, err, again, bytewise)
		}
		if err != nil || v.kind != '"' {
			return
		}
		var whole string
		if err := json.Unmarshal(content, &whole); err != nil || v.length != int64(len(whole)) || !strings.HasPrefix(whole, v.text) {
			t.Fatalf("%q: %d bytes that begin %q, want %q", content, v.length, v.text, whole)
		}
	})
}

// What is accepted can be loaded, and is described in one line.
func FuzzCheck(f *testing.F) {
	seed(f)
	f.Add([]byte(grepOf(3)))
	f.Add([]byte(strings.Replace(grepOf(3), `"result":"xxx"`, `"result":{"matches":[1],"count":-1,"error":""}`, 1)))
	f.Add([]byte(strings.Replace(grepOf(3), `{`, `{"TOOLNAME":1,"toolname":"y",`, 1)))
	f.Fuzz(func(t *testing.T, content []byte) {
		l, err := readFields(bytes.NewReader(content))
		if err != nil {
			return
		}
		c, err := decode(content)
		if err != nil {
			t.Fatalf("%q is accepted, but not loaded: %v", content, err)
		}
		if c.ToolName != l.ToolName || c.SessionID != l.SessionID || c.QueryID != l.QueryID || c.TaskID != l.TaskID || c.Timestamp.UnixMilli() != l.Timestamp {
			t.Fatalf("%q: listed %+v, loaded %+v", content, l, c)
		}
		if strings.ContainsAny(l.Description, "\n\r\t\x00\x1b") || utf8.RuneCountInString(l.Description) > maxLine+20 {
			t.Fatalf("described as %q", l.Description)
		}
		name, _, err := c.Encode()
		if err != nil {
			return // its parts are too long for a name
		}
		if err := errors.Join(checkName(name), agree(name, c.SessionID, c.ToolName)); err != nil {
			t.Fatal(err)
		}
	})
}

// Different sessions and tools never share a name, but for hyphens.
func FuzzFileName(f *testing.F) {
	f.Add("session-abc123", "read_file", "a1b2c3")
	f.Add("../x", "mcp/é", "0")
	f.Add("-rf", ".", "z")
	f.Fuzz(func(t *testing.T, session, tool, hash string) {
		name, err := FileName(session, tool, hash)
		if err != nil {
			return
		}
		if err := errors.Join(checkName(name), agree(name, session, tool)); err != nil {
			t.Fatal(err)
		}
		if !isResult(name) || len(name)+len(rejEnd) > 255 || strings.ContainsAny(name, "/\x00 *?") || name[0] == '.' || name[0] == '-' {
			t.Fatalf("named %q", name)
		}
		if agree(name, session+"x", tool) == nil || agree(name, session, tool+"x") == nil {
			t.Fatalf("%q agrees with another tool or session", name)
		}
	})
}

func FuzzParseSelection(f *testing.F) {
	f.Add("[1, 2]")
	f.Fuzz(func(t *testing.T, answer string) {
		numbers, err := ParseSelection(answer)
		for _, n := range numbers {
			if err != nil || n < 1 || len(numbers) > maxSelected {
				t.Fatalf("%q: %v, %v", answer, numbers, err)
			}
		}
	})
}
