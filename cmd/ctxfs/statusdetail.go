package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"ctxfs/index"
	"ctxfs/memories"
	"ctxfs/results"
	"ctxfs/room"
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
	Commits     int64             `json:"commits"`
	Refusals    int64             `json:"refusals"`
	LastHour    int               `json:"refusalsLastHour"`
	Faults      int64             `json:"faults"`
	Vars        variables.Status  `json:"vars"`
	Results     results.Status    `json:"results"`
	Memories    memoriesStatus    `json:"memories"`
	Invocations invocationsStatus `json:"invocations"`
}

// printStatuses is a line for each mount, advice on those that do not serve,
// and one screen on a single one.
func printStatuses(out io.Writer, list []mountStatus, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "nothing is mounted; `ctxfs mount` mounts the store at ~/context")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "MOUNTPOINT\tSTORE\tPID\tSTATE")
	for _, m := range list {
		pid := "-"
		if m.PID != 0 {
			pid = fmt.Sprint(m.PID)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(m.Mountpoint), printable(m.Store), pid, m.State)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, m := range list {
		if text := advice(m); text != "" {
			if _, err := fmt.Fprintf(out, "\n%s\n", printable(text)); err != nil {
				return err
			}
		}
	}
	switch {
	case len(list) > 1:
		_, err := fmt.Fprintln(out, "\n`ctxfs status MOUNTPOINT` says more on one of them.")
		return err
	case list[0].Stats != nil:
		return printDetail(out, list[0], now)
	}
	return nil
}

// printDetail is one mount on one screen.
func printDetail(out io.Writer, m mountStatus, now time.Time) error {
	var s mountStats
	if err := json.Unmarshal(m.Stats, &s); err != nil {
		return fmt.Errorf("read the mount's stats: %w", err)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	line := func(name, format string, a ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", a...) }
	line("\nup", "%v, version %s, %s of memory", now.Sub(s.Started).Round(time.Second), printable(s.Version), size(s.Memory))
	line("entries", "%s", indexed(m.Index))
	line("saves", "%d; drafts open: %d", s.Commits, s.Drafts)
	line("vars", "%d; those of sessions take %s of %s in memory; on disk: %d (%s)", s.Vars.Variables,
		size(s.Vars.MemoryBytes), size(s.Vars.MemoryLimit), s.Vars.Spilled, size(s.Vars.SpilledBytes))
	line("results", "%d; %s in memory, %s on disk", s.Results.Results, size(s.Results.MemoryBytes), size(s.Results.DiskBytes))
	line("memories", "%d; %s%s", s.Memories.Memories, queued(s.Memories.Status), undelivered(s.Memories.Status))
	line("invocations", "%s of history", size(s.Invocations.Bytes))
	line("requests", "%d lookups, %d opens, %d reads, %d writes", s.Requests.Lookup, s.Requests.Open, s.Requests.Read, s.Requests.Write)
	line("caches", "%s; the kernel knows %d names", cached(s.Requests.Open, s.Requests.Read), s.Nodes)
	line("refusals", "%s", refusals(s, m.Refusal))
	line("faults", "%d%s", s.Faults, map[bool]string{true: ": these are defects of ctxfs; its log has them"}[s.Faults > 0])
	return w.Flush()
}

// indexed says what .ctxfs/index says.
func indexed(text json.RawMessage) string {
	var s index.Status
	switch {
	case text == nil || json.Unmarshal(text, &s) != nil:
		return "the index gives no answer"
	case s.Error != "":
		return "searching does not work: " + printable(s.Error)
	case s.Building:
		return fmt.Sprintf("%d in the index, %d still to come", s.Entries, s.Todo)
	}
	return fmt.Sprintf("%d, all in the index", s.Entries)
}

// queued says what waits to be written.
func queued(s memories.Status) string {
	waiting, longest := 0, 0
	for _, n := range s.Queues {
		waiting += n
		longest = max(longest, n)
	}
	text := "nothing waits to be written"
	if waiting > 0 {
		text = fmt.Sprintf("%d wait to be written, the longest queue is %d of %d", waiting, longest, s.QueueLimit)
	}
	if n := len(s.Unwritten); n > 0 {
		text += fmt.Sprintf("\n\t%d NOT ON DISK, as %s: %s", n, printable(s.Unwritten[0].Memory), printable(s.Unwritten[0].Error))
	}
	return text
}

// undelivered says what the backend has not got.
func undelivered(s memories.Status) string {
	if s.Outbox == nil {
		return ""
	}
	return fmt.Sprintf("\n\toutbox to %s: %d waiting, %d refused", printable(s.Outbox.Backend), s.Outbox.Pending, s.Outbox.Parked)
}

// refusals counts those of the last hour and shows the newest.
func refusals(s mountStats, newest json.RawMessage) string {
	if s.LastHour == 0 {
		return fmt.Sprintf("none in the last hour, %d since the start", s.Refusals)
	}
	orMore := ""
	if s.LastHour >= room.JournalLines {
		orMore = " or more" // the journal holds no more
	}
	text := fmt.Sprintf("%d%s in the last hour, %d since the start; see .ctxfs/errors", s.LastHour, orMore, s.Refusals)
	var r struct{ Path, Reason string }
	if json.Unmarshal(newest, &r) == nil && r.Path != "" {
		text += fmt.Sprintf("\n\tthe newest: %s: %s", printable(r.Path), short(r.Reason, 100))
	}
	return text
}

// cached says how often the kernel had the content of what was opened.
func cached(opens, reads int64) string {
	if opens == 0 {
		return "nothing has been opened yet"
	}
	return fmt.Sprintf("%d%% of the opens needed no read", max(0, opens-reads)*100/opens)
}

// lastLine is the last line of text.
func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
