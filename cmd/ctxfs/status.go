package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// mountStatus is one mount in the output of `status --json`.
type mountStatus struct {
	Mountpoint string          `json:"mountpoint"`
	Store      string          `json:"store"`
	State      state           `json:"state"`
	PID        int             `json:"pid,omitempty"`
	Stats      json.RawMessage `json:"stats,omitempty"`         // .ctxfs/stats
	Index      json.RawMessage `json:"index,omitempty"`         // .ctxfs/index
	Refusal    json.RawMessage `json:"newestRefusal,omitempty"` // of .ctxfs/errors
}

func newStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "status [flags] [PATH]",
		SuggestFor: []string{"list", "ls", "info", "df"},
		Short:      "List the mounts and say how they do",
		Long: fmt.Sprintf(`List the ctxfs mounts. Of a single one, or of that at or above PATH, show on one
screen what it holds and how it does: counts, memory, queues, refusals, how many
opens the kernel's cache spared the daemon. A mount that gives no answer within
%v is said not to answer.`, probeWait),
		Example: "  ctxfs status\n  ctxfs status --json ~/context",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			list, err := statuses(a)
			if err != nil {
				return err
			}
			if asJSON || len(list) == 1 {
				for i := range list {
					list[i].lookInside()
				}
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(list)
			}
			return printStatuses(cmd.OutOrStdout(), list, time.Now())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: an array of mounts")
	cmd.ValidArgsFunction = completeMounts
	return cmd
}

// statuses asks every ctxfs mount, or the one that args name a path in.
func statuses(args []string) ([]mountStatus, error) {
	all, err := mounts()
	if err != nil {
		return nil, err
	}
	if len(args) == 1 {
		path, err := absolute(args[0])
		if err != nil {
			return nil, err
		}
		m, ok := ctxfsAbove(all, path)
		if !ok {
			return nil, fmt.Errorf("%s is not a ctxfs mount; `ctxfs mount %s` makes it one, `ctxfs status` lists them", path, args[0])
		}
		all = []mount{m}
	}
	list := []mountStatus{}
	for _, m := range all {
		if m.Type == fstype {
			s, state := probe(m.Point)
			list = append(list, mountStatus{Mountpoint: m.Point, Store: m.Source, State: state, PID: s.PID, Stats: s.Raw})
		}
	}
	return list, nil
}

// lookInside asks a mount that serves what its stats do not say. What cannot
// be read is left out: the mount has just answered.
func (m *mountStatus) lookInside() {
	if m.State != serving {
		return
	}
	if text, err := ask(m.Mountpoint, indexControl); err == nil && json.Valid(text) {
		m.Index = text
	}
	if text, err := ask(m.Mountpoint, "errors"); err == nil {
		if last := lastLine(text); json.Valid(last) {
			m.Refusal = last
		}
	}
}

// advice is what to do about a mount that does not serve; "" where nothing is.
func advice(m mountStatus) string {
	switch m.State {
	case serving:
		return ""
	case stale:
		return fmt.Sprintf("The daemon of %s has crashed or was killed. `ctxfs mount --store %s %s` mounts it anew, `ctxfs umount %s` cleans up.",
			m.Mountpoint, m.Store, m.Mountpoint, m.Mountpoint)
	case foreign:
		return fmt.Sprintf("%s can only be looked into by the user who mounted it.", m.Mountpoint)
	case hung:
		return fmt.Sprintf("The daemon of %s does not answer; `ctxfs umount --force %s` ends it, and what it has not committed is lost.",
			m.Mountpoint, m.Mountpoint)
	}
	return fmt.Sprintf("`ctxfs umount --force %s` ends a mount that cannot be used.", m.Mountpoint)
}
