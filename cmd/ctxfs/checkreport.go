package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ctxfs/room"
)

// report prints what a check finds, as it finds it, and mends it with --fix.
type report struct {
	out                        io.Writer
	json, fix                  bool
	progress                   *progress
	problems, warnings, mended int
	err                        error // of the first print that failed
}

// What `check` calls what it finds.
const (
	aProblem = "problem"
	aWarning = "warning"
	isMended = "mended"
)

// finding is a line of `check --json`.
type finding struct {
	Severity string `json:"severity"` // problem, warning or mended
	Path     string `json:"path"`
	Line     int    `json:"line,omitempty"`
	Field    string `json:"field,omitempty"`
	Reason   string `json:"reason"`
	Fix      string `json:"fix,omitempty"`
	Mendable bool   `json:"mendable,omitempty"` // --fix would mend it
	Did      string `json:"did,omitempty"`      // what --fix did
}

func (r *report) add(ctx context.Context, p room.Problem) {
	f := finding{Severity: aProblem, Path: p.Path, Line: p.Line, Field: p.Field, Reason: p.Reason, Fix: p.Fix, Mendable: p.Mend != nil}
	if p.Warning {
		f.Severity = aWarning
	}
	if r.fix && p.Mend != nil {
		did, err := p.Mend(ctx)
		if err == nil {
			f.Severity, f.Did, f.Fix, f.Mendable = isMended, did, "", false
		} else {
			f.Fix, f.Mendable = "could not be mended: "+err.Error()+"; "+f.Fix, false
		}
	}
	switch f.Severity {
	case aProblem:
		r.problems++
	case aWarning:
		r.warnings++
	default:
		r.mended++
	}
	r.print(f)
}

func (r *report) print(f finding) {
	r.progress.clear()
	var err error
	if r.json {
		err = printJSON(r.out, f)
	} else {
		_, err = fmt.Fprintln(r.out, printable(f.String()))
	}
	r.err = errors.Join(r.err, err)
}

// String is path:line: severity: field: reason (what to do, or what was done).
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
	switch {
	case f.Did != "":
		b.WriteString(" (" + f.Did + ")")
	case f.Mendable:
		b.WriteString(" (" + f.Fix + "; --fix mends it)")
	case f.Fix != "":
		b.WriteString(" (" + f.Fix + ")")
	}
	return b.String()
}

// end prints the sum. Warnings alone are no failure.
func (r *report) end(dir string) error {
	if !r.json {
		sum := fmt.Sprintf("%s: %d problems, %d warnings", dir, r.problems, r.warnings)
		if r.fix {
			sum += fmt.Sprintf(" left, %d mended", r.mended)
		}
		_, err := fmt.Fprintln(r.out, printable(sum))
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
