package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ctxfs/results"
)

func newResultsSave(f *reachFlags) *cobra.Command {
	var s resultsSave
	cmd := &cobra.Command{
		Use:   "save [flags] [FILE|-]",
		Short: "Save the output of a tool",
		Long: `Save what a tool returned, from FILE or standard input, for the session: JSON as it
is, other text as a string. Prints the path of the result; saving the same again
is the same path.`,
		Example: `  rg -n TODO | ctxfs results save --session s1 --tool rg --args '{"pattern":"TODO"}'`,
		Args:    args(cobra.MaximumNArgs(1)),
		RunE:    func(cmd *cobra.Command, a []string) error { return s.run(cmd, f, a) },
	}
	cmd.Flags().StringVar(&s.tool, "tool", "", "the tool's `NAME`")
	cmd.Flags().StringVar(&s.args, "args", "{}", "its arguments, a `JSON` object")
	cmd.Flags().StringVar(&s.task, "task", "", "the `ID` of the task it was for")
	cmd.Flags().StringVar(&s.query, "query", "", "the `TEXT` of the query that it answers; its hash becomes the queryId")
	cmd.Flags().BoolVar(&s.text, "text", false, "take the output for text, even where it is JSON")
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON: the pointer")
	return cmd
}

type resultsSave struct {
	tool, args, task, query string
	text, json              bool
}

func (s *resultsSave) run(cmd *cobra.Command, f *reachFlags, a []string) error {
	c := results.Context{ToolName: s.tool, Args: json.RawMessage(s.args), TaskID: s.task, SessionID: f.caller(os.Getenv).Session}
	var fields map[string]json.RawMessage
	switch err := json.Unmarshal(c.Args, &fields); {
	case s.tool == "":
		return usageError{errors.New("which tool? say --tool")}
	case c.SessionID == "":
		return usageError{errors.New("which session? say --session, or set SFA_SESSION_ID")}
	case err != nil || fields == nil:
		return usageError{fmt.Errorf("--args %.60q is no JSON object", s.args)}
	}
	if s.query != "" {
		c.QueryID = results.HashQuery(s.query)
	}
	return f.reach(cmd, func(ctx context.Context, r *reached) error {
		if err := r.needsMount("a result", ""); err != nil {
			return err
		}
		in, err := input(cmd, a)
		if err != nil {
			return err
		}
		defer in.Close()
		output, err := readAll(in, results.MaxSize)
		if err != nil {
			return fmt.Errorf("read the output: %w", err)
		}
		if c.Result, err = s.result(output); err != nil {
			return err
		}
		return s.save(ctx, cmd, r, c)
	})
}

// result is the output as JSON.
func (s *resultsSave) result(output []byte) (json.RawMessage, error) {
	if !s.text && json.Valid(output) {
		return output, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(string(bytes.ToValidUTF8(output, []byte("\uFFFD"))))
	return b.Bytes(), err
}

func (s *resultsSave) save(ctx context.Context, cmd *cobra.Command, r *reached, c results.Context) error {
	c.Timestamp = time.Now()
	p, err := r.SaveResult(ctx, c)
	if err != nil {
		return err
	}
	if !s.json {
		return printLine(cmd, p.Filepath)
	}
	return printJSON(cmd.OutOrStdout(), p)
}
