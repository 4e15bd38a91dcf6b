package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newSupersede() *cobra.Command {
	var f reachFlags
	cmd := &cobra.Command{
		Use:   "supersede [flags] OLD NEW",
		Short: "Say that one entry takes the place of another",
		Long: `Put OLD into the fields supersedes and links of the entry NEW. The entry OLD gets
a line in its changelog that says so; its text stays. Both must exist.`,
		Example: `  ctxfs supersede alice/20260221T143022-auth.md alice/20260223T090000-auth-again.md`,
		Args:    args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, a []string) error {
			before, err := f.entry(a[0])
			if err != nil {
				return err
			}
			after, err := f.entry(a[1])
			if err != nil {
				return err
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				return r.Supersede(ctx, before, after)
			})
		},
	}
	f.add(cmd.Flags())
	cmd.ValidArgsFunction = f.completeEntries(2)
	return cmd
}
