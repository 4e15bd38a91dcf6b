package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is one line of the result. A goal is met when the ratio, or the median
// where there is no ratio, is at most the goal.
type row struct {
	What   string    `json:"what"`
	Who    string    `json:"who"`
	Median float64   `json:"median"`
	Unit   string    `json:"unit"` // s, ms, MB
	Rounds []float64 `json:"rounds"`
	Ratio  float64   `json:"ratio,omitempty"` // median of the rounds' ratios
	Of     string    `json:"of,omitempty"`    // whom the ratio is to
	Goal   float64   `json:"goal,omitempty"`
	Met    *bool     `json:"met,omitempty"`
}

// plain makes a row without a goal for each of who.
func plain(what, unit string, values map[string][]float64, who ...string) []row {
	var rows []row
	for _, name := range who {
		rows = append(rows, row{What: what, Who: name, Unit: unit, Median: median(values[name]), Rounds: values[name]})
	}
	return rows
}

// beside compares who with of, round by round.
func beside(what, unit string, values map[string][]float64, who, of string) row {
	r := plain(what, unit, values, who)[0]
	var ratios []float64
	for i, v := range values[who] {
		ratios = append(ratios, v/values[of][i])
	}
	r.Ratio, r.Of = median(ratios), of
	return r
}

// ratio is beside, held against a goal.
func ratio(what, unit string, values map[string][]float64, who, of string, goal float64) row {
	r := beside(what, unit, values, who, of)
	r.Goal = goal
	met := r.Ratio <= goal
	r.Met = &met
	return r
}

// limit holds the median itself against the goal.
func limit(what, unit string, values map[string][]float64, who string, goal float64) row {
	r := plain(what, unit, values, who)[0]
	r.Goal = goal
	met := r.Median <= goal
	r.Met = &met
	return r
}

// median returns the middle value, or the mean of the two in the middle; NaN
// has no business here, values are never empty.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// result is the output for a machine.
type result struct {
	Kernel  string `json:"kernel"`
	CPUs    int    `json:"cpus"`
	Load    string `json:"load"` // average over the minute before the start
	Dir     string `json:"dir"`
	Rounds  int    `json:"rounds"`
	Entries int    `json:"entries"`
	Many    int    `json:"many"`
	Saves   int    `json:"saves"`
	Rows    []row  `json:"rows"`
}

// print writes the rows as a table, or as JSON.
func print(out io.Writer, s settings, load string, rows []row) error {
	kernel, err := exec.Command("uname", "-sr").Output()
	if err != nil {
		return fmt.Errorf("ask for the kernel: %w", err)
	}
	r := result{strings.TrimSpace(string(kernel)), runtime.NumCPU(), load, s.dir, s.rounds, s.entries, s.many, s.saves, rows}
	if s.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	fmt.Fprintf(out, "%s, %d CPUs, load %s before; %s; medians of %d rounds\n\n", r.Kernel, r.CPUs, r.Load, r.Dir, r.Rounds)
	return table(out, rows)
}

func table(out io.Writer, rows []row) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tWHO\tMEDIAN\tRATIO\tGOAL\tMET")
	for _, r := range rows {
		var ratio, goal, met string
		if r.Of != "" {
			ratio = fmt.Sprintf("%.2f of %s", r.Ratio, r.Of)
		}
		if r.Met != nil {
			goal, met = fmt.Sprintf("%.4g", r.Goal), "no"
			if r.Of == "" {
				goal += " " + r.Unit
			}
			if *r.Met {
				met = "yes"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%.3g %s\t%s\t%s\t%s\n", r.What, r.Who, r.Median, r.Unit, ratio, goal, met)
	}
	return w.Flush()
}
