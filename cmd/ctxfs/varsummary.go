package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"ctxfs/access"
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
				v, err := r.existing(ctx, a[0], o.scope)
				if err != nil {
					return err
				}
				text, err := r.summary(ctx, v, tokens)
				if err != nil || !o.json {
					return errors.Join(err, printLine(cmd, text))
				}
				return printJSON(cmd.OutOrStdout(), summaryJSON{v.key, v.scope, tokens, text})
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

// summary reads .summary/KEY@TOKENS, with zeros before the number while there
// is a variable of that very name.
func (r *reached) summary(ctx context.Context, v variable, tokens int) (string, error) {
	name := fmt.Sprintf("%s@%d", v.key, tokens)
	for zeros := "0"; ; zeros += "0" {
		_, err := r.Stat(ctx, v.in(name))
		if errors.Is(err, fs.ErrNotExist) || len(name) >= variables.MaxKey {
			break
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s@%s%d", v.key, zeros, tokens)
	}
	text, err := access.ReadAll(ctx, r, v.in(".summary/"+name))
	return string(text), err
}
