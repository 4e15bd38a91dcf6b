package main

import (
	"slices"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{5, 100, 1, 3}, 4},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
}

// A round in which the machine was busy burdens both sides and must not show.
func TestRatioComparesWithinOneRound(t *testing.T) {
	values := map[string][]float64{"a": {1, 10, 3}, "b": {2, 20, 6}}
	r := ratio("x", "s", values, "a", "b", 0.5)
	if r.Ratio != 0.5 || r.Median != 3 || !*r.Met {
		t.Errorf("%+v", r)
	}
	if r := ratio("x", "s", values, "b", "a", 1.9); r.Ratio != 2 || *r.Met {
		t.Errorf("%+v", r)
	}
}

func TestTableSaysWhichGoalsAreMet(t *testing.T) {
	values := map[string][]float64{"a": {1}, "b": {2}}
	rows := append(plain("walk", "s", values, "b"), ratio("walk", "s", values, "a", "b", 0.4), limit("mount", "ms", values, "a", 200))
	var out strings.Builder
	if err := table(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"WHAT WHO MEDIAN RATIO GOAL MET",
		"walk b 2 s",
		"walk a 1 s 0.50 of b 0.4 no",
		"mount a 1 ms 200 ms yes",
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range got {
		got[i] = strings.Join(strings.Fields(line), " ")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
