package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctxfs/codec"
	"ctxfs/invocations"
)

func newHistory() *cobra.Command {
	f := &reachFlags{}
	var h history
	cmd := &cobra.Command{
		Use:   "history [flags]",
		Short: "Show the newest invocations of tools",
		Long: `Show the newest tool invocations that were recorded, the newest last. Finding
those of the last days takes no longer in a long history than in a short one;
memory is constant.`,
		Example: `  ctxfs history --limit 20 --failed
  ctxfs history --since 24h --tool grep --json | jq .params`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := h.check(time.Now()); err != nil {
				return usageError{err}
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error { return h.run(ctx, cmd, r) })
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().IntVar(&h.Limit, "limit", invocations.DefaultLimit, "how many of those that match; 0 is all")
	cmd.Flags().StringVar(&h.Tool, "tool", "", "only this tool's")
	cmd.Flags().BoolVar(&h.Failed, "failed", false, "only those that failed")
	cmd.Flags().StringVar(&h.since, "since", "", "only from this `TIME` on: 90m, 24h, 7d, 2025-12-18 or 2025-12-18T10:30:00Z")
	cmd.Flags().BoolVar(&h.json, "json", false, "print JSON: the lines as they are stored")
	return cmd
}

type history struct {
	invocations.Filter
	since string
	json  bool
}

func (h *history) check(now time.Time) error {
	switch {
	case h.Limit < 0:
		return errors.New("--limit is 0 or more")
	case h.Limit == 0:
		h.Limit = -1
	}
	if h.since == "" {
		return nil
	}
	var ok bool
	if h.Since, ok = parseSince(h.since, now); !ok {
		return fmt.Errorf("--since %q is no time; write 90m, 24h, 7d, 2025-12-18 or 2025-12-18T10:30:00Z", h.since)
	}
	return nil
}

// parseSince reads a length of time before now, or a time.
func parseSince(s string, now time.Time) (time.Time, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), true
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func (h *history) run(ctx context.Context, cmd *cobra.Command, r *reached) error {
	return r.EachInvocation(ctx, h.Filter, h.shower(cmd.OutOrStdout()))
}

// shower prints an entry: as it is stored, or as a row.
func (h *history) shower(out io.Writer) func(invocations.Entry) error {
	if h.json {
		return func(e invocations.Entry) error {
			_, err := fmt.Fprintln(out, codec.HarmlessJSON(string(e.Line)))
			return err
		}
	}
	width := 0 // whole summaries, where no terminal wraps them
	if columns, ok := terminalWidth(out); ok {
		width = max(columns-historyColumns, 20)
	}
	head := func() error {
		_, err := fmt.Fprintf(out, "%-20s  %-6s  %-20s  %s\n", "TIME", "RESULT", "TOOL", "SUMMARY")
		return err
	}
	first := true
	return func(e invocations.Entry) error {
		if first {
			first = false
			if err := head(); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintln(out, row(e, width))
		return err
	}
}

// historyColumns is how wide the columns before the summary are.
const historyColumns = 20 + 2 + 6 + 2 + 20 + 2

func row(e invocations.Entry, width int) string {
	result, text := "ok", string(e.Params)
	if e.Failed() {
		result = "failed"
	}
	if e.Summary != nil && strings.TrimSpace(*e.Summary) != "" {
		text = *e.Summary
	}
	if width == 0 {
		width = maxSummary
	}
	return strings.TrimRight(fmt.Sprintf("%-20s  %-6s  %-20s  %s", stamp(e.Timestamp), result, short(e.ToolName, 40), short(text, width)), " ")
}

// maxSummary is the length of a row's summary where no terminal says how wide
// it is, in characters.
const maxSummary = 300
