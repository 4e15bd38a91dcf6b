package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ctxfs/operations"
	"ctxfs/results"
)

func newResults() *cobra.Command {
	f := &reachFlags{}
	cmd := &cobra.Command{
		Use:   "results",
		Short: "Keep the outputs of tools for a session, and load some of them",
		Long: `Outputs of tools that are too long to keep in mind are saved for a session, listed
one line each, and those that matter are loaded.

They end with the session, or with the daemon; so they need a mount. There they
are files too, results/SESSION-TOOL-HASH.json.`,
		Example: `  rg --json TODO | ctxfs results save --session s1 --tool search --args '{"q":"TODO"}'
  ctxfs results ls --session s1
  ctxfs results load --session s1 --select 1,3`,
		Args: args(noSuchCommand),
		RunE: needSubcommand,
	}
	f.add(cmd.PersistentFlags())
	cmd.AddCommand(newResultsSave(f), newResultsLoad(f), newResultsLs(f), newResultsClear(f))
	return cmd
}

func newResultsLs(f *reachFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "ls [flags]",
		SuggestFor: []string{"list"},
		Short:      "Print the numbered list of the results",
		Long: `Print the results of the session (of all sessions, where none is said), numbered,
the oldest first: the tool, a line on what it found, and the size. Nothing is
loaded. ` + "`ctxfs results load --select`" + ` takes the numbers.`,
		Example: `  ctxfs results ls --session s1
  # 1. search: Found 150 matches for "TODO" (12KB)`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				all, err := r.Results(ctx, r.Caller.Session)
				if err != nil {
					return err
				}
				if asJSON {
					for _, l := range all {
						err = errors.Join(err, printJSON(cmd.OutOrStdout(), l))
					}
					return err
				}
				for line := range strings.Lines(results.List(all)) {
					_, werr := fmt.Fprintln(cmd.OutOrStdout(), printable(strings.TrimSuffix(line, "\n")))
					err = errors.Join(err, werr)
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one pointer a line, with its description")
	return cmd
}

func newResultsLoad(f *reachFlags) *cobra.Command {
	var selected string
	cmd := &cobra.Command{
		Use:   "load [flags] [PATH...]",
		Short: "Write selected results to standard output",
		Long: `Write results to standard output, one JSON object after the other: those with the
numbers that ` + "`ctxfs results ls`" + ` prints for the session, or those at the paths that
` + "`ctxfs results save`" + ` printed.`,
		Example: `  ctxfs results load --session s1 --select 1,2 | jq .result`,
		Args: func(cmd *cobra.Command, a []string) error {
			if (selected == "") == (len(a) == 0) {
				return usageError{errors.New("which results? --select numbers of the list, or name paths")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, a []string) error {
			numbers, err := results.ParseSelection(selected)
			if err != nil {
				return usageError{err}
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				paths, err := r.selected(ctx, numbers, a)
				if err != nil {
					return err
				}
				for _, path := range paths {
					if err := copyOut(ctx, cmd, r, path); err != nil {
						return notLoaded(path, err)
					}
				}
				return nil
			})
		},
	}
	// Results are JSON already.
	cmd.Flags().Bool("json", true, "print JSON, as it does anyway")
	cmd.Flags().StringVar(&selected, "select", "", "`NUMBERS` of the list, as 1,2 or [1, 2]")
	return cmd
}

func notLoaded(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no result %s (any more); list them again", path)
	}
	return err
}

// selected are the paths of these numbers of the list, or of these arguments.
func (r *reached) selected(ctx context.Context, numbers []int, args []string) ([]string, error) {
	var paths []string
	for _, a := range args {
		if !strings.HasPrefix(a, operations.ResultsDir+"/") {
			a = operations.ResultsDir + "/" + a
		}
		paths = append(paths, a)
	}
	if len(numbers) == 0 {
		return paths, nil
	}
	all, err := r.Results(ctx, r.Caller.Session)
	if err != nil {
		return nil, err
	}
	picked, err := results.Pick(all, numbers)
	for _, l := range picked {
		paths = append(paths, l.Filepath)
	}
	return paths, err
}

func newResultsClear(f *reachFlags) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:     "clear [flags]",
		Short:   "End a session: remove its results",
		Long:    `Remove the results of a session, or of --all.`,
		Example: `  ctxfs results clear --session s1`,
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := f.caller(os.Getenv)
			switch {
			case all && f.session != "":
				return usageError{errors.New("--all and --session exclude each other")}
			case !all && c.Session == "":
				return usageError{errors.New("which session? say --session, or --all")}
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				session := r.Caller.Session
				if all {
					session = ""
				}
				n, err := r.ClearResults(ctx, session)
				if err == nil && asJSON {
					err = printJSON(cmd.OutOrStdout(), map[string]int{"cleared": n})
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "of all sessions")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: how many were cleared")
	return cmd
}

// readAll reads what a command is given, at most limit bytes of it.
func readAll(in io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it is longer than %s", size(limit))
	}
	return text, err
}
