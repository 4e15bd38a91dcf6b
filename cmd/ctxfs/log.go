package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// logLine is a line of `log --json`.
type logLine struct {
	Version int       `json:"version"`
	Current bool      `json:"current"`
	Time    time.Time `json:"time"`
	Agent   string    `json:"agent"`
	Summary string    `json:"summary"`
	Size    int64     `json:"sizeBytes"`
}

func newEntryLog() *cobra.Command {
	var f reachFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "log [flags] ENTRY",
		Short: "List the versions of an entry",
		Long: `List the versions of an entry, oldest first: when each was written, by which
agent, and what its changelog says. ENTRY is a path in a mount, or one from the
store's root. The last one is the current version; "ctxfs diff" and "ctxfs
restore" take the numbers.`,
		Example: `  ctxfs log ~/context/alice/20260221T143022-auth.md
  ctxfs log --json alice/20260221T143022-auth.md`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			path, err := f.entry(a[0])
			if err != nil {
				return err
			}
			v, err := f.versions(cmd.Context(), path)
			if err != nil {
				return err
			}
			lines, err := v.log(cmd.Context())
			if err = errors.Join(err, v.end()); err != nil {
				return err
			}
			return printLog(cmd, lines, asJSON)
		},
	}
	f.addStore(cmd.Flags())
	cmd.ValidArgsFunction = f.completeEntries(1)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one version a line")
	return cmd
}

func (v *entryVersions) log(ctx context.Context) ([]logLine, error) {
	var lines []logLine
	var before []byte
	for _, e := range v.all {
		text, err := v.read(ctx, e.n)
		if err != nil {
			return nil, err
		}
		l := logLine{Version: e.n, Current: e.n == v.last(), Time: e.time.UTC(), Size: e.size}
		l.Agent, l.Summary = change(before, text)
		lines = append(lines, l)
		before = text
	}
	return lines, nil
}

func printLog(cmd *cobra.Command, lines []logLine, asJSON bool) error {
	out := cmd.OutOrStdout()
	t := newTable(discardIf(asJSON, out), "VERSION", "TIME", "AGENT", "SUMMARY")
	for _, l := range lines {
		if asJSON {
			if err := printJSON(out, l); err != nil {
				return err
			}
			continue
		}
		n := fmt.Sprint(l.Version)
		if l.Current {
			n += " (current)"
		}
		agent := l.Agent
		if agent == "" {
			agent = "-"
		}
		t.row(n, stamp(l.Time), agent, l.Summary)
	}
	return t.flush()
}
