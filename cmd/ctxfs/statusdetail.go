package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"ctxfs/memories"
	"ctxfs/results"
	"ctxfs/variables"
)

// mountStats is .ctxfs/stats as far as a person wants to see it.
type mountStats struct {
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Nodes    int       `json:"nodes"`
	Drafts   int       `json:"drafts"`
	Memory   int64     `json:"memoryBytes"`
	Requests struct {
		Lookup, Open, Read, Write int64
	} `json:"requests"`
	Commits  int64            `json:"commits"`
	Refusals int64            `json:"refusals"`
	LastHour int              `json:"refusalsLastHour"`
	Faults   int64            `json:"faults"`
	Vars     variables.Status `json:"vars"`
	Results  results.Status   `json:"results"`
	Memories memories.Status  `json:"memories"`
}

// printDetail is one mount on one screen.
func printDetail(out io.Writer, raw json.RawMessage, now time.Time) error {
	var s mountStats
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("read the mount's stats: %w", err)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "\nup\t%v, version %s, %s of memory, %d names known to the kernel\n",
		now.Sub(s.Started).Round(time.Second), s.Version, size(s.Memory), s.Nodes)
	fmt.Fprintf(w, "requests\t%d lookups, %d opens, %d reads, %d writes: %s of the opens needed no read\n",
		s.Requests.Lookup, s.Requests.Open, s.Requests.Read, s.Requests.Write, share(s.Requests.Open-s.Requests.Read, s.Requests.Open))
	fmt.Fprintf(w, "saves\t%d, drafts open %d\n", s.Commits, s.Drafts)
	fmt.Fprintf(w, "refusals\t%d, of them %d within the last hour: see .ctxfs/errors\n", s.Refusals, s.LastHour)
	fmt.Fprintf(w, "faults\t%d%s\n", s.Faults, map[bool]string{true: ": see the log"}[s.Faults > 0])
	fmt.Fprintf(w, "vars\t%d, %s of %s in memory, %d spilled (%s)\n", s.Vars.Variables,
		size(s.Vars.MemoryBytes), size(s.Vars.MemoryLimit), s.Vars.Spilled, size(s.Vars.SpilledBytes))
	fmt.Fprintf(w, "results\t%d, %s in memory, %s on disk\n", s.Results.Results, size(s.Results.MemoryBytes), size(s.Results.DiskBytes))
	fmt.Fprintf(w, "memories\tqueues %s of %d%s\n", strings.Trim(fmt.Sprint(s.Memories.Queues), "[]"), s.Memories.QueueLimit, waiting(s.Memories))
	return w.Flush()
}

// waiting says what of the memories is not where it should be.
func waiting(s memories.Status) string {
	var b strings.Builder
	if n := len(s.Unwritten); n > 0 {
		fmt.Fprintf(&b, "; %d NOT ON DISK, as %s: %s", n, s.Unwritten[0].Memory, printable(s.Unwritten[0].Error))
	}
	if s.Outbox != nil {
		fmt.Fprintf(&b, "; outbox to %s: %d waiting, %d refused", printable(s.Outbox.Backend), s.Outbox.Pending, s.Outbox.Parked)
	}
	return b.String()
}

func share(part, whole int64) string {
	if whole <= 0 {
		return "none"
	}
	return fmt.Sprintf("%d%%", max(0, part)*100/whole)
}
