package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/codec"
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
			if before == after {
				return usageError{fmt.Errorf("%s cannot supersede itself", printable(before))}
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				return r.supersede(ctx, before, after)
			})
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (r *reached) supersede(ctx context.Context, before, after string) error {
	if _, err := r.Stat(ctx, before); err != nil {
		return fmt.Errorf("the entry to be superseded: %w", err)
	}
	text, err := access.ReadAll(ctx, r, after)
	if err != nil {
		return fmt.Errorf("the entry that supersedes it: %w", err)
	}
	changed, err := codec.AddSupersedes(text, before)
	if err != nil {
		return fmt.Errorf("%s: %w", after, err)
	}
	if bytes.Equal(changed, text) {
		return nil
	}
	return r.Write(ctx, after, bytes.NewReader(changed), nil)
}
