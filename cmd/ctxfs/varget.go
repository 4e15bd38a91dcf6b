package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/operations"
	"ctxfs/variables"
)

func newVarGet(f *reachFlags) *cobra.Command {
	o := flagsOfOne{reachFlags: f}
	cmd := &cobra.Command{
		Use:   "get [flags] KEY",
		Short: "Write a variable's value to standard output",
		Long: `Write the value of a variable to standard output, as it is. Without a scope the
key is looked up in the caller's session, then among its agent's variables, then
among the global ones.`,
		Example: `  ctxfs var get agent:planner/plan.json | jq .steps`,
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				v, err := r.Existing(ctx, a[0], o.scope)
				if err != nil {
					return err
				}
				if o.json {
					return printValue(ctx, cmd, r, v)
				}
				return copyOut(ctx, cmd, r, v.Path())
			})
		},
	}
	o.add(cmd, "look only in this `SCOPE`", "print JSON: the ref's fields, and content (contentBase64 where it is not UTF-8)")
	return cmd
}

// copyOut writes a file's content to standard output.
func copyOut(ctx context.Context, cmd *cobra.Command, r *reached, path string) error {
	c, err := r.Open(ctx, path)
	if err != nil {
		return err
	}
	return streamOut(cmd, c)
}

func streamOut(cmd *cobra.Command, c access.File) error {
	out := contentOut(cmd.OutOrStdout())
	_, err := io.Copy(out, c)
	return errors.Join(err, out.Close(), c.Close())
}

// valueJSON is what `get --json` and `resolve --json` print.
type valueJSON struct {
	variables.Ref
	Content *string `json:"content,omitempty"`
	Base64  []byte  `json:"contentBase64,omitempty"`
}

func printValue(ctx context.Context, cmd *cobra.Command, r *reached, v operations.Variable) error {
	ref, err := r.Ref(ctx, v)
	if err != nil {
		return err
	}
	c, err := r.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	return printResolved(cmd, ref, c)
}

func printResolved(cmd *cobra.Command, ref variables.Ref, c access.File) error {
	content, err := io.ReadAll(c)
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	out := valueJSON{Ref: ref, Base64: content}
	if text := string(content); utf8.ValidString(text) {
		out.Content, out.Base64 = &text, nil
	}
	return printJSON(cmd.OutOrStdout(), out)
}

func newVarRef(f *reachFlags) *cobra.Command {
	o := flagsOfOne{reachFlags: f}
	cmd := &cobra.Command{
		Use:   "ref [flags] KEY",
		Short: "Print a variable's ref, the handle to pass on",
		Long: `Print the ref of a variable: one line of JSON that names its present value and
says type and size. It takes the same time for any value; no content is read.`,
		Example: `  ctxfs var ref dataset
  # {"id":"…","key":"dataset","scope":"global","type":"text","sizeBytes":588895,"created":"…"}`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				v, err := r.Existing(ctx, a[0], o.scope)
				if err != nil {
					return err
				}
				ref, err := r.Ref(ctx, v)
				if err != nil {
					return err
				}
				return printJSON(cmd.OutOrStdout(), ref)
			})
		},
	}
	o.add(cmd, "look only in this `SCOPE`", "print JSON, as it does anyway")
	return cmd
}

func newVarResolve(f *reachFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resolve [flags] REF|-",
		Short: "Write the value that a ref names to standard output",
		Long: `Write the value that a ref names to standard output; - reads the ref from
standard input. A ref names one value: where the variable has got another one
since, or is gone, that is an error, and nothing is written.`,
		Example: `  ctxfs var ref dataset | ctxfs var resolve -`,
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			ref, err := readRef(cmd, a[0])
			if err != nil {
				return err
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				c, err := r.Resolve(ctx, ref)
				switch {
				case err != nil:
					return err
				case asJSON:
					return printResolved(cmd, ref, c)
				}
				return streamOut(cmd, c)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: the ref's fields, and content (contentBase64 where it is not UTF-8)")
	return cmd
}

// maxRef is the length of the longest text that is taken for a ref, in bytes.
const maxRef = 64 << 10

func readRef(cmd *cobra.Command, arg string) (variables.Ref, error) {
	text := []byte(arg)
	if arg == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxRef)); err != nil {
			return variables.Ref{}, fmt.Errorf("read the ref: %w", err)
		}
	}
	ref, err := variables.ParseRef(text)
	if err != nil {
		return ref, usageError{err}
	}
	return ref, nil
}

func printLine(cmd *cobra.Command, text string) error {
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSuffix(text, "\n"))
	return err
}
