package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestNothingControlsTheTerminalFromATable(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain, größer 漢字 🙂", "plain, größer 漢字 🙂"},
		{"red\x1b[31m", `red\x1b[31m`},
		{"a\nb\tc\r", `a\nb\tc\r`},
		{"\u009b31m", `\u009b31m`},
		{"txt\u202egpj", `txt\u202egpj`},
		{"a\u2028b\u200bc\ufeff", `a\u2028b\u200bc\ufeff`},
		{"bad\xff\xc3", `bad\xff\xc3`},
		{"nul\x00", `nul\x00`},
	} {
		if got := printable(c.in); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
		}
	}
	var out bytes.Buffer
	table := newTable(&out, "NAME", "SIZE", "NOTE")
	table.row("evil\x1b]0;x\a", "1", "")
	if err := table.flush(); err != nil {
		t.Fatal(err)
	}
	if want := "NAME            SIZE  NOTE\nevil\\x1b]0;x\\a  1\n"; out.String() != want {
		t.Errorf("the table is %q, want %q", out.String(), want)
	}
}

func TestShortIsOneLineOfAtMostSoMany(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"one two", 7, "one two"}, {"one\n two  three", 20, "one two three"}, {"äöüäöü", 4, "äöü…"}, {"", 3, ""}} {
		if got := short(c.in, c.n); got != c.want {
			t.Errorf("short(%q, %d) is %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestSizesAsPeopleReadThem(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1023: "1023", 1024: "1.0K", 10 << 10: "10K", 588895: "575K", 1<<20 - 1: "1.0M", 5 << 30: "5.0G", 1 << 62: "4.0E"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) is %s, want %s", n, got, want)
		}
	}
}

func TestSinceIsALengthOfTimeOrATime(t *testing.T) {
	now := time.Date(2026, 2, 22, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{"90m": "2026-02-22T10:30:00Z", "24h": "2026-02-21T12:00:00Z", "7d": "2026-02-15T12:00:00Z",
		"2025-12-18": "2025-12-18T00:00:00Z", "2025-12-18T10:30:00+01:00": "2025-12-18T09:30:00Z"} {
		if got, ok := parseSince(in, now); !ok || stamp(got) != want {
			t.Errorf("%s is %v, want %s", in, got, want)
		}
	}
	for _, in := range []string{"yesterday", "-1h", "-1d", "d", "1", "5 days"} {
		if got, ok := parseSince(in, now); ok {
			t.Errorf("%q is taken for %v", in, got)
		}
	}
}

func TestOfALongOutputBothEndsAreKept(t *testing.T) {
	var whole strings.Builder
	k := &keeper{}
	for n := 0; whole.Len() < 5*keepEnd; n++ {
		piece := strings.Repeat(string(rune('a'+n%26)), n%7000)
		whole.WriteString(piece)
		k.keep([]byte(piece))
	}
	got, all := k.text(), whole.String()
	if !strings.HasPrefix(got, all[:keepEnd]) || !strings.HasSuffix(got, all[len(all)-keepEnd:]) || len(got) > 2*keepEnd+100 {
		t.Errorf("%d bytes are kept of %d", len(got), len(all))
	}
	short := &keeper{}
	short.keep([]byte("a\xffb"))
	if short.text() != "a\uFFFDb" || short.total != 3 {
		t.Errorf("a short one is %q", short.text())
	}
}
