package invocations

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

func readBackwards(t *testing.T, text []byte) []string {
	t.Helper()
	b := newBackwards(bytes.NewReader(text), int64(len(text)))
	var lines []string
	for {
		line, err := b.previous()
		if errors.Is(err, io.EOF) {
			slices.Reverse(lines)
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
}

func TestBackwardsReadsTheLinesThatForwardsReads(t *testing.T) {
	long := strings.Repeat("x", 3*backStep)
	for name, text := range map[string]string{
		"empty": "", "one": "a\n", "two": "a\nb\n", "unfinished": "a\nb", "only unfinished": "a", "empty lines": "\n\na\n\n\nb\n\n",
		"long": "a\n" + long + "\nb\n", "long first": long + "\nb\n", "long last": "a\n" + long + "\n", "long unfinished": "a\n" + long,
		"at the step": strings.Repeat("x", backStep-1) + "\n" + strings.Repeat("y", backStep-1) + "\n",
		"many":        strings.Repeat("0123456789abcdef\n", 3*backStep/16),
	} {
		if got, want := readBackwards(t, []byte(text)), forwards(text); !slices.Equal(got, want) {
			t.Errorf("%s: %d lines, want %d", name, len(got), len(want))
		}
	}
}

func forwards(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if whole, ok := strings.CutSuffix(line, "\n"); ok && whole != "" {
			lines = append(lines, whole)
		}
	}
	return lines
}

func TestLinesThatAreTooLongAreLeftOut(t *testing.T) {
	text := "a\n" + strings.Repeat("x", 3*MaxLine) + "\nb\n"
	if got := readBackwards(t, []byte(text)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%d lines", len(got))
	}
}

// BenchmarkReadLast50 reads from a history of 1 MB and of 1 GB. All but the
// last MB of the large one is a hole.
func BenchmarkReadLast50(b *testing.B) {
	for _, size := range []int64{1 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			bench := longHistory(b, size)
			b.ReportAllocs()
			for b.Loop() {
				if got, err := bench.Read(ctx, 50); err != nil || len(got) != 50 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

func longHistory(t testing.TB, size int64) *bench {
	b := newBench(t)
	f, err := os.OpenFile(b.path(fileName), os.O_WRONLY, 0)
	b.ok(err)
	line := call(1) + filled
	lines := strings.Repeat(line, (1<<20)/len(line))
	_, err = f.WriteAt([]byte("\n"+lines), size-int64(len(lines))-1)
	b.ok(errors.Join(err, f.Close()))
	return b
}

func TestReadingTheEndTakesTheSameMemoryHoweverLongTheHistoryIs(t *testing.T) {
	cost := func(size int64) float64 {
		b := longHistory(t, size)
		return testing.AllocsPerRun(5, func() {
			if got, err := b.Read(ctx, 50); err != nil || len(got) != 50 {
				t.Fatal(len(got), err)
			}
		})
	}
	if small, large := cost(1<<20), cost(1<<30); large > small*1.1 {
		t.Errorf("%v allocations at 1 MB, %v at 1 GB", small, large)
	}
}
