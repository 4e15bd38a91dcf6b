package room

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLinesAreNumberedCutAndTold(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	for text, want := range map[string][]string{
		"":                    nil,
		"a\n":                 {"1 a true"},
		"a\n\nb":              {"1 a true", "2  true", "3 b false"},
		"\n":                  {"1  true"},
		long + "\nb\n":        {"1 " + long[:11] + " true", "2 b true"},
		"0123456789\n" + long: {"1 0123456789 true", "2 " + long[:11] + " false"},
	} {
		var got []string
		err := Lines(iotest.OneByteReader(strings.NewReader(text)), 10, func(n int, line []byte, ended bool) error {
			got = append(got, fmt.Sprintf("%d %s %v", n, line, ended))
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("of %.20q... the lines are %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestLinesEndAtTheFirstError(t *testing.T) {
	n := 0
	err := Lines(strings.NewReader("a\nb\n"), 10, func(int, []byte, bool) error { n++; return io.ErrNoProgress })
	if err != io.ErrNoProgress || n != 1 {
		t.Errorf("%d lines, %v", n, err)
	}
	err = Lines(iotest.ErrReader(io.ErrNoProgress), 10, func(int, []byte, bool) error { return nil })
	if err != io.ErrNoProgress {
		t.Errorf("the reader's error is told as %v", err)
	}
}
