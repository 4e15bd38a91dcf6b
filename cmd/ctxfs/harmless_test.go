package main

import (
	"encoding/json"
	"strings"
	"testing"

	"ctxfs/codec"
)

const controls = "\x1b]0;x\a\x1b[31m\u009b31m\u202e\x7f\U000e0001"

func TestJSONHoldsNothingThatControlsATerminalAndMeansTheSame(t *testing.T) {
	want, err := marshal(map[string]string{"a" + controls: "b" + controls + "\t\n<"})
	if err != nil {
		t.Fatal(err)
	}
	got := codec.HarmlessJSON("\r\n" + string(want))
	if strings.ContainsFunc(strings.TrimSpace(got), codec.Unprintable) {
		t.Errorf("%q", got)
	}
	var a, b map[string]string
	if err := json.Unmarshal(want, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		t.Fatalf("%q: %v", got, err)
	}
	for k, v := range a {
		if b[k] != v {
			t.Errorf("%q is %q, not %q", k, b[k], v)
		}
	}
}

func TestContentsOnATerminalAreFilteredWhereverTheyAreCut(t *testing.T) {
	in := "größe\t漢" + controls + "\n\xff\xc3\xc3\xa4end\xf0\x9f\x99"
	want := harmlessLines(in)
	if strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(want), codec.Unprintable) || !strings.Contains(want, "größe\t漢") {
		t.Fatalf("%q", want)
	}
	for size := 1; size < 9; size++ {
		var out strings.Builder
		f := &filter{w: &out}
		for i := 0; i < len(in); i += size {
			if _, err := f.Write([]byte(in[i:min(i+size, len(in))])); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, not %q", size, out.String(), want)
		}
	}
}
