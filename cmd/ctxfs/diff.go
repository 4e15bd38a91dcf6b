package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"
)

func newDiff() *cobra.Command {
	var f reachFlags
	var color string
	cmd := &cobra.Command{
		Use:   "diff [flags] ENTRY [N [M]]",
		Short: "Show what changed between two versions of an entry",
		Long: `Show what changed from version N to version M of an entry, as a unified diff. M
is the current version where it is left out, N the one before it. "ctxfs log"
lists the numbers.`,
		Example: `  ctxfs diff ~/context/alice/20260221T143022-auth.md
  ctxfs diff alice/20260221T143022-auth.md 1 3`,
		Args: args(cobra.RangeArgs(1, 3)),
		RunE: func(cmd *cobra.Command, a []string) error {
			colored, err := colors(color, cmd.OutOrStdout(), os.Getenv)
			if err != nil {
				return err
			}
			path, err := f.entry(a[0])
			if err != nil {
				return err
			}
			v, err := f.versions(cmd.Context(), path)
			if err != nil {
				return err
			}
			text, err := v.diff(cmd.Context(), a[1:])
			if err = errors.Join(err, v.end()); err != nil {
				return err
			}
			return printDiff(cmd.OutOrStdout(), text, colored)
		},
	}
	f.addStore(cmd.Flags())
	cmd.ValidArgsFunction = f.completeEntries(1)
	addColor(cmd.Flags(), &color)
	return cmd
}

// diff compares the versions that args number.
func (v *entryVersions) diff(ctx context.Context, args []string) (string, error) {
	n, m := v.last()-1, v.last()
	var err error
	if len(args) > 0 {
		if n, err = v.number(args[0]); err != nil {
			return "", err
		}
	}
	if len(args) > 1 {
		if m, err = v.number(args[1]); err != nil {
			return "", err
		}
	}
	if len(args) == 0 && len(v.all) == 1 {
		return "", fmt.Errorf("%s has one version only; nothing was changed", printable(v.path))
	}
	old, err := v.read(ctx, n)
	if err != nil {
		return "", err
	}
	now, err := v.read(ctx, m)
	if err != nil {
		return "", err
	}
	label := func(n int) string { return fmt.Sprintf("%s@%d", v.path, n) }
	return udiff.Unified(label(n), label(m), string(old), string(now)), nil
}

// printDiff prints a diff: as it is for programs, in colours and without
// control characters for people.
func printDiff(w io.Writer, text string, colored bool) error {
	if f, ok := w.(*os.File); !colored && (!ok || !isTerminal(f)) {
		_, err := io.WriteString(w, text)
		return err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		b.WriteString(paint(colored, diffColor(line), harmless(line)) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func diffColor(line string) string {
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		return bold
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "+"):
		return green
	}
	return ""
}
