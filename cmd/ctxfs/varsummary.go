package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ctxfs/variables"
)

func newVarSummary(f *reachFlags) *cobra.Command {
	o := flagsOfOne{reachFlags: f}
	var tokens int
	cmd := &cobra.Command{
		Use:   "summary [flags] KEY",
		Short: "Say what a variable holds, in few tokens",
		Long: `Print a summary of a variable's value in at most so many tokens, made from its
content by type, or by the summarizer that the mount was given. The next one of
the same value reads nothing.`,
		Example: `  ctxfs var summary dataset --tokens 100`,
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			if tokens < 1 || tokens > variables.MaxSummaryTokens {
				return usageError{fmt.Errorf("--tokens is 1 to %d", variables.MaxSummaryTokens)}
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				v, err := r.Existing(ctx, a[0], o.scope)
				if err != nil {
					return err
				}
				text, err := r.Summary(ctx, v, tokens)
				if err != nil || !o.json {
					return errors.Join(err, printLine(cmd, harmlessLines(text)))
				}
				return printJSON(cmd.OutOrStdout(), summaryJSON{v.Key, v.Scope, tokens, text})
			})
		},
	}
	o.add(cmd, "look only in this `SCOPE`", "print JSON: key, scope, maxTokens and summary")
	cmd.Flags().IntVar(&tokens, "tokens", variables.DefaultSummaryTokens, "how long it may be, in `TOKENS` (cl100k_base)")
	return cmd
}

type summaryJSON struct {
	Key       string          `json:"key"`
	Scope     variables.Scope `json:"scope"`
	MaxTokens int             `json:"maxTokens"`
	Summary   string          `json:"summary"`
}
