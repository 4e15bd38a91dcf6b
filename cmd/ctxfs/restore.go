package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ctxfs/codec"
)

func newRestore() *cobra.Command {
	var f reachFlags
	cmd := &cobra.Command{
		Use:   "restore [flags] ENTRY N",
		Short: "Make an old version of an entry the current one again",
		Long: `Write version N of an entry as its next version, with a line in its changelog.
Nothing is lost: the version that was current until now is kept, and all lines
of the changelog stay.`,
		Example: `  ctxfs restore ~/context/alice/20260221T143022-auth.md 2`,
		Args:    args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, a []string) error {
			path, err := f.entry(a[0])
			if err != nil {
				return err
			}
			v, err := f.versions(cmd.Context(), path)
			if err != nil {
				return err
			}
			n, err := v.number(a[1])
			var text []byte
			if err == nil {
				text, err = v.read(cmd.Context(), n)
			}
			if err == nil && n == v.last() {
				err = fmt.Errorf("version %d of %s is the current one", n, printable(path))
			}
			if err = errors.Join(err, v.end()); err != nil {
				return err
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				return r.restore(ctx, path, n, text)
			})
		},
	}
	f.add(cmd.Flags())
	cmd.ValidArgsFunction = f.completeEntries(1)
	return cmd
}

// restore writes text, which was version n, as the next version.
func (r *reached) restore(ctx context.Context, path string, n int, text []byte) error {
	line := codec.Author{Agent: r.label(), Time: time.Now()}
	text = codec.AppendLine(text, line, fmt.Sprintf("Restored version %d", n))
	return r.Write(ctx, path, bytes.NewReader(text), nil)
}

// label is who a changelog line names: the caller, else the mount's --agent,
// else this program.
func (r *reached) label() string {
	if r.Caller.Agent != "" {
		return r.Caller.Agent
	}
	var mounted struct {
		Agent string `json:"agent"`
	}
	if r.Point != "" {
		// Without an answer there is still a name.
		s, _ := probe(r.Point)
		_ = json.Unmarshal(s.Raw, &mounted)
	}
	return cmp.Or(codec.CleanLabel(mounted.Agent), programName)
}

// programName is how this program is called where nobody has a name.
const programName = "ctxfs"
