package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ctxfs/operations"
)

// The exit codes, the only place where they are numbered.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// errSilent fails a command that has already said why.
var errSilent = errors.New("")

// run is the whole command: it parses args, does what they say, prints the
// error if there is one, and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	if status := exitStatus(0); errors.As(err, &status) {
		return int(status)
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintf(stderr, "ctxfs: %s\n", harmlessLines(err.Error()))
	}
	var usage usageError
	var argument *operations.ArgumentError
	if errors.As(err, &usage) || errors.As(err, &argument) {
		fmt.Fprintf(stderr, "ctxfs: usage: %s; `%s --help` says more\n", cmd.UseLine(), cmd.CommandPath())
		return exitUsage
	}
	return exitFailure
}

// args turns a complaint of check into a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		if err := check(cmd, a); err != nil {
			return usageError{err}
		}
		return nil
	}
}
