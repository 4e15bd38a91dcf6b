package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ctxfs/operations"
	"ctxfs/variables"
)

func newVarSet(f *reachFlags) *cobra.Command {
	o := flagsOfOne{reachFlags: f}
	var typ string
	var persist bool
	cmd := &cobra.Command{
		Use:   "set [flags] KEY [FILE|-]",
		Short: "Give a variable a value: a file, or standard input",
		Long: `Make the content of FILE, or of standard input, the value of a variable. Values
of any length take the same memory. The old value stays until the new one is
whole; agent, global and persisted variables are on disk then.`,
		Example: `  jq -n '{done: 3}' | ctxfs var set progress.json --scope agent
  ctxfs var set dataset big.csv --json`,
		Args: args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				return o.set(ctx, cmd, r, a, typ, persist)
			})
		},
	}
	o.add(cmd, "the `SCOPE` (default global)", "print the new value's ref")
	cmd.Flags().StringVar(&typ, "type", "", "text, json, memory, result or stream (default: the variable's, else by key)")
	cmd.Flags().BoolVar(&persist, "persist", false, "keep a session variable beyond the daemon's end")
	completeTypes(cmd)
	return cmd
}

func (o *flagsOfOne) set(ctx context.Context, cmd *cobra.Command, r *reached, a []string, typ string, persist bool) error {
	v, err := r.ParseVariable(a[0], o.scope)
	if err != nil {
		return err
	}
	if v.Scope == "" {
		v.Scope = variables.Global
	}
	attrs, err := operations.Attributes(typ, persist)
	if err != nil {
		return err
	}
	if v.Session() && !persist {
		if err := r.needsMount("a session variable", ", or --persist it"); err != nil {
			return err
		}
	}
	content, err := input(cmd, a[1:])
	if err != nil {
		return err
	}
	defer content.Close()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := r.Replace(ctx, v, untilDone(ctx, content), attrs); err != nil {
		return err
	}
	if !o.json {
		return nil
	}
	ref, err := r.Ref(ctx, v)
	if err != nil {
		return err
	}
	return printJSON(cmd.OutOrStdout(), ref)
}

// untilDone reads r until ctx ends. A Read that blocks is left behind then,
// with the process soon to end.
func untilDone(ctx context.Context, r io.Reader) io.Reader { return &interruptible{ctx, r} }

type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	own := make([]byte, len(p))
	go func() {
		n, err := i.r.Read(own)
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-i.ctx.Done():
		return 0, fmt.Errorf("interrupted: %w", i.ctx.Err())
	}
}
