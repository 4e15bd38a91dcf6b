package variables

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

var jsonSeeds = []string{
	``, ` `, `{}`, `[]`, `{"a":[1,2,{"b":null}],"c":"x\u00e9\n"}`, `[1,]`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{1:2}`,
	`0`, `-0`, `01`, `-`, `1.`, `1.5`, `.5`, `1e`, `1e+`, `1E-5`, `1e5.`, `1 2`, `tru`, `true`, `truex`, `nul`, `"`, `"\`, `"\u12g4"`,
	"\"a\nb\"", "\"\x01\"", "\"\xff\"", `[}`, `{]`, `]`, `}`, `[[]`, "\ufeff{}", "{\"a\":\t1\r\n}", `"a" "b"`, `[1 2]`, `{"a":1 "b":2}`,
	`[` + "\v" + `]`, `[0e0,-0.0E+0]`, `+1`, `NaN`, `--1`, `1-`,
}

// FuzzJSONIsAcceptedAsByEncodingJSON compares with encoding/json, however the
// text is cut into writes.
func FuzzJSONIsAcceptedAsByEncodingJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := json.Valid(text)
		for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text))} {
			err := checkJSON(r)
			if (err == nil) != want {
				t.Fatalf("%q: %v; encoding/json says valid: %v", text, err, want)
			}
			var bad *jsonError
			if err != nil && (!errors.As(err, &bad) || bad.line < 1 || bad.line > 1+bytes.Count(text, []byte("\n"))) {
				t.Fatalf("%q: %#v", text, err)
			}
		}
	})
}

func TestJSONMayNestAsDeepAsEncodingJSONAllows(t *testing.T) {
	for _, n := range []int{jsonDepth, jsonDepth + 1} {
		text := strings.Repeat("[", n) + strings.Repeat("]", n)
		if err := checkJSON(strings.NewReader(text)); (err == nil) != json.Valid([]byte(text)) {
			t.Errorf("%d deep: %v", n, err)
		}
	}
}

func TestAJSONErrorNamesItsLine(t *testing.T) {
	err := checkJSON(strings.NewReader("{\n \"a\": 1,\n \"b\": oops\n}"))
	var bad *jsonError
	if !errors.As(err, &bad) || bad.line != 3 {
		t.Fatalf("%v", err)
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	text := []byte(`[` + strings.Repeat(`{"name":"some text of usual length","n":123.5,"ok":true},`, 10000) + `{}]`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := checkJSON(bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
