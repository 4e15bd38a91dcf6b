package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// mountStatus is one mount in the output of `status --json`.
type mountStatus struct {
	Mountpoint string          `json:"mountpoint"`
	Store      string          `json:"store"`
	State      state           `json:"state"`
	PID        int             `json:"pid,omitempty"`
	Stats      json.RawMessage `json:"stats,omitempty"`
}

func newStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "status [flags] [MOUNTPOINT]",
		SuggestFor: []string{"list", "ls", "info", "df"},
		Short:      "List the mounts and say how they do",
		Long: fmt.Sprintf(`List the ctxfs mounts, or the one at MOUNTPOINT; of a single one, show how it
does. A mount that gives no answer within %v is said not to answer.`, probeWait),
		Example: "  ctxfs status\n  ctxfs status --json ~/context",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			list, err := statuses(a)
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(list)
			}
			return printStatuses(cmd, list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: an array of mounts")
	cmd.ValidArgsFunction = completeMounts
	return cmd
}

// statuses asks every ctxfs mount, or the one that args name.
func statuses(args []string) ([]mountStatus, error) {
	all, err := mounts()
	if err != nil {
		return nil, err
	}
	point := ""
	if len(args) == 1 {
		if point, err = absolute(args[0]); err != nil {
			return nil, err
		}
	}
	list := []mountStatus{}
	for _, m := range all {
		if m.Type != fstype || point != "" && m.Point != point {
			continue
		}
		s, st := probe(m.Point)
		list = append(list, mountStatus{m.Point, m.Source, st, s.PID, s.Raw})
	}
	if point != "" && len(list) == 0 {
		return nil, fmt.Errorf("%s is not a ctxfs mount", point)
	}
	return list, nil
}

func printStatuses(cmd *cobra.Command, list []mountStatus) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing is mounted; `ctxfs mount` mounts the store at ~/context")
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "MOUNTPOINT\tSTORE\tPID\tSTATE")
	for _, m := range list {
		pid := "-"
		if m.PID != 0 {
			pid = fmt.Sprint(m.PID)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Mountpoint, m.Store, pid, m.State)
	}
	if err := w.Flush(); err != nil || len(list) != 1 || list[0].Stats == nil {
		return err
	}
	return printDetail(cmd.OutOrStdout(), list[0].Stats, time.Now())
}
