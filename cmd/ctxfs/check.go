package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ctxfs/backing/localdir"
	"ctxfs/entries"
)

func newCheck() *cobra.Command {
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Look for entries in the store that are not valid",
		Long: `Read every entry of the store and report what is not valid and which links lead
nowhere. It changes nothing, and works beside a daemon. Exit code 1 if there
is a problem; warnings, as of links whose target may still come, are none.`,
		Example: "  ctxfs check\n  ctxfs check --json --store ~/notes",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return check(cmd, store, asJSON)
		},
	}
	cmd.Flags().StringVar(&store, "store", "", "the store's directory (default: as for mount)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one finding a line")
	return cmd
}

func check(cmd *cobra.Command, flag string, asJSON bool) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	dir, err := storePath(flag, os.Getenv, all)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("check the store: %w", err)
	}
	store, err := localdir.Open(dir, localdir.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer store.Close()
	room, err := entries.New(store, entries.Options{})
	if err != nil {
		return fmt.Errorf("check %s: %w", dir, err)
	}
	defer room.Close()
	r := report{out: cmd.OutOrStdout(), json: asJSON}
	if err := room.Check(cmd.Context(), r.add); err != nil {
		return err
	}
	return r.end(dir)
}

// report prints what a check finds, as it finds it.
type report struct {
	out                io.Writer
	json               bool
	problems, warnings int
	err                error // of the first print that failed
}

// finding is a line of `check --json`.
type finding struct {
	Severity string `json:"severity"` // problem or warning
	Path     string `json:"path"`
	Line     int    `json:"line,omitempty"`
	Field    string `json:"field,omitempty"`
	Reason   string `json:"reason"`
	Fix      string `json:"fix,omitempty"`
}

func (r *report) add(p entries.Problem) {
	f := finding{"problem", p.Path, p.Line, p.Field, p.Reason, p.Fix}
	if p.Warning {
		f.Severity = "warning"
		r.warnings++
	} else {
		r.problems++
	}
	var err error
	if r.json {
		err = json.NewEncoder(r.out).Encode(f)
	} else {
		_, err = fmt.Fprintln(r.out, f)
	}
	r.err = errors.Join(r.err, err)
}

// String is path:line: severity: field: reason (fix).
func (f finding) String() string {
	var b strings.Builder
	b.WriteString(f.Path)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	b.WriteString(": " + f.Severity + ": ")
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	b.WriteString(f.Reason)
	if f.Fix != "" {
		b.WriteString(" (" + f.Fix + ")")
	}
	return b.String()
}

// end prints the sum. Warnings alone are no failure.
func (r *report) end(dir string) error {
	if !r.json {
		_, err := fmt.Fprintf(r.out, "%s: %d problems, %d warnings\n", dir, r.problems, r.warnings)
		r.err = errors.Join(r.err, err)
	}
	if r.err != nil {
		return fmt.Errorf("report: %w", r.err)
	}
	if r.problems > 0 {
		return errSilent
	}
	return nil
}
