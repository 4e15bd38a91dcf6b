package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scanLines is what a search for an expression means: each line by itself.
func scanLines(text []byte, re *regexp.Regexp) []int {
	if len(text) == 0 {
		return nil // no line
	}
	var all []int
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		if re.Match(line) {
			all = append(all, i+1)
		}
	}
	return all
}

var fragments = []string{"alpha", "Beta", "loop", "naïve", "ÜBER", "日本", "語", "x_y", "42", "tok", "en", "K", "ſ", "e\u0301", " ", "  ", "-", ".", ",", "(", "\t", "\r", "\xff"}

func generatedText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(12) {
		for range r.IntN(9) {
			b.WriteString(fragments[r.IntN(len(fragments))])
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n") + []string{"", "\n", "\r\n"}[r.IntN(3)]
}

func generatedPattern(r *rand.Rand, depth int) string {
	var b strings.Builder
	for range 1 + r.IntN(3) {
		s := regexp.QuoteMeta(fragments[r.IntN(len(fragments)-1)])
		if depth > 0 {
			switch r.IntN(14) {
			case 0:
				s = "(" + generatedPattern(r, depth-1) + "|" + generatedPattern(r, depth-1) + ")"
			case 1:
				s = "(?i:" + generatedPattern(r, depth-1) + ")"
			case 2:
				s = "(?:" + generatedPattern(r, depth-1) + ")" + []string{"*", "+", "?", "{2}", "{0,2}"}[r.IntN(5)]
			case 3:
				s = []string{"^", "$", `\b`, `\B`, `\A`, `\z`, "(?-m:^)", "(?-m:$)"}[r.IntN(8)]
			case 4:
				s = []string{".", ".*", `\w+`, `\W`, `\d`, `\s+`, "[^a]", "[^b]*", "[Tt]", "[a-z]+", `\pL`, `\n?`, `(?s:.)`}[r.IntN(13)]
			}
		}
		b.WriteString(s)
	}
	return b.String()
}

func TestLinesAreThoseOfAPlainScan(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	found := 0
	for range 5000 {
		pattern, text, fold := generatedPattern(r, 2), []byte(generatedText(r)), r.IntN(4) == 0
		m, err := compile(Query{Regex: pattern, IgnoreCase: fold})
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		var got []int
		for _, l := range m.lines(text) {
			got = append(got, l.N)
		}
		want := scanLines(text, m.re)
		if found += len(want); !slices.Equal(got, want) {
			t.Fatalf("%q, fold %v, in %q: lines %v, want %v", pattern, fold, text, got, want)
		}
	}
	if found < 500 {
		t.Errorf("only %d lines matched: the patterns say nothing", found)
	}
}

// The index must narrow nothing away: through it an expression finds what it
// finds in each entry.
func TestExpressionsFindInTheStoreWhatTheyFindInEachEntry(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	b := newBench(t)
	texts := map[string][]byte{}
	b = b.reopen(func() {
		for i := range 60 {
			p := fmt.Sprintf("alice/20260221T1430%02d-t.md", i)
			texts[p] = []byte(content("tags: [alpha, \"x_y 42\"]\n", generatedText(r)))
			if i%10 == 0 {
				texts[p] = []byte(generatedText(r) + "x") // no frontmatter
			}
			b.outside(p, string(texts[p]))
		}
	})
	b.until("all are in", func() bool { s := b.Status(ctx); return !s.Building && s.Entries == len(texts) })
	found := 0
	for range 150 {
		q := Query{Regex: generatedPattern(r, 2), IgnoreCase: r.IntN(4) == 0, Limit: -1}
		m, err := compile(q)
		b.ok(err)
		var got, want []string
		hits, err := b.Search(ctx, q)
		b.ok(err)
		for _, h := range hits {
			for _, l := range h.Lines {
				got = append(got, fmt.Sprintf("%s:%d", h.Path, l.N))
			}
		}
		for p, text := range texts {
			for _, n := range scanLines(text, m.re) {
				want = append(want, fmt.Sprintf("%s:%d", p, n))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if found += len(want); !slices.Equal(got, want) {
			t.Fatalf("%q, fold %v:\n found %q\nwanted %q", q.Regex, q.IgnoreCase, got, want)
		}
	}
	if found < 100 {
		t.Errorf("only %d lines matched: the patterns say nothing", found)
	}
}
