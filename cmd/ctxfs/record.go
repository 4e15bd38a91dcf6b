package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/invocations"
)

// exitStatus ends ctxfs with the status of the command that it ran.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func newRecord() *cobra.Command {
	f := &reachFlags{}
	var r record
	cmd := &cobra.Command{
		Use:   "record [flags] -- COMMAND [ARG...]",
		Short: "Run a command and record it as an invocation",
		Long: fmt.Sprintf(`Run a command with the streams it would have without ctxfs, exit with its status
(128 and the signal's number, if one ended it), and record it in the history of
invocations: name, arguments, exit status, duration, and the first and the last
%d KiB of its output.

What goes to a terminal goes there directly, so that the command sees the
terminal; of that only a note is recorded. Otherwise the end of the output is
awaited, also from processes that the command leaves behind.`, keepEnd>>10),
		Example: `  ctxfs record --summary 'unit tests' -- go test ./... | tee log`,
		Args: func(cmd *cobra.Command, a []string) error {
			if len(a) == 0 {
				return usageError{errors.New("which command? ctxfs record -- COMMAND [ARG...]")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, a []string) error {
			// The command is run once: what begins ctxfs anew comes before.
			if err := beNamed(f.caller(os.Getenv)); err != nil {
				return err
			}
			r.argv = a
			return r.run(cmd, f)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&r.summary, "summary", "", "a `TEXT` that says what it was for (default: the command line)")
	cmd.Flags().StringVar(&r.tool, "tool", "", "record it as the tool `NAME` (default: the command's name)")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

type record struct {
	argv          []string
	summary, tool string
}

// run runs the command and records it. That it could not be recorded does not
// change how the command ended.
func (r *record) run(cmd *cobra.Command, f *reachFlags) error {
	o := perform(r.argv)
	result := o.result(cmd)
	if err := r.keep(cmd.Context(), cmd, f, o); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: the invocation is not recorded: %v\n", err)
	}
	return result
}

func (r *record) keep(ctx context.Context, cmd *cobra.Command, f *reachFlags, o outcome) error {
	e, err := r.entry(o)
	if err != nil {
		return err
	}
	files, err := f.open(cmd.ErrOrStderr(), access.Options{})
	if err != nil {
		return err
	}
	return errors.Join(files.Record(context.WithoutCancel(ctx), e), files.Close())
}

// paramsJSON and resultJSON are what a recorded command looks like.
type paramsJSON struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

type resultJSON struct {
	ExitStatus  int     `json:"exitStatus"`
	Signal      string  `json:"signal,omitempty"`
	Error       string  `json:"error,omitempty"` // why it could not be run
	DurationMs  int64   `json:"durationMs"`
	Output      *string `json:"output"` // standard output and error; null where a terminal got it all
	OutputBytes int64   `json:"outputBytes"`
	Note        string  `json:"note,omitempty"`
}

func (r *record) entry(o outcome) (invocations.Entry, error) {
	e := invocations.Entry{ToolName: r.tool, Summary: &r.summary, Timestamp: o.began, ID: uuid.New()}
	if e.ToolName == "" {
		e.ToolName = strings.ToValidUTF8(filepath.Base(r.argv[0]), "\uFFFD")
	}
	if r.summary == "" {
		line := strings.ToValidUTF8(strings.Join(r.argv, " "), "\uFFFD")
		if runes := []rune(line); len(runes) > maxSummary {
			line = string(runes[:maxSummary-1]) + "…"
		}
		e.Summary = &line
	}
	success := o.status == 0
	e.Success = &success
	res := resultJSON{ExitStatus: o.status, Signal: o.signal, DurationMs: o.lasted.Milliseconds(), Note: o.note}
	if o.err != nil {
		res.Error = o.err.Error()
	}
	if o.kept != nil {
		text := o.kept.text()
		res.Output, res.OutputBytes = &text, o.kept.total
	}
	var err error
	if e.Params, err = marshal(paramsJSON{r.argv[0], append([]string{}, r.argv[1:]...)}); err != nil {
		return e, err
	}
	e.Result, err = marshal(res)
	return e, err
}

// outcome is how a command went.
type outcome struct {
	started bool
	began   time.Time
	lasted  time.Duration
	status  int    // as a shell says it
	signal  string // that ended it, if one did
	err     error  // why it could not be run, or its output not be passed on
	kept    *keeper
	note    string
}
