package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// likeness is how many letters a name may differ from what was typed, to be
// what was perhaps meant.
const likeness = 2

// noSuchCommand refuses arguments where a command below cmd should stand, and
// says which are spelt like them.
func noSuchCommand(cmd *cobra.Command, a []string) error {
	if len(a) == 0 {
		return nil
	}
	if strings.Contains(a[0], "/") && !cmd.HasParent() {
		return fmt.Errorf("there is no command %q; to mount the store there: `ctxfs mount %s`", a[0], a[0])
	}
	cmd.SuggestionsMinimumDistance = likeness
	if like := cmd.SuggestionsFor(a[0]); len(like) > 0 {
		return fmt.Errorf("there is no command %q; did you mean `%s %s`?", a[0], cmd.CommandPath(), like[0])
	}
	return fmt.Errorf("there is no command %q", a[0])
}

// needSubcommand is what a command does that only has commands below it.
func needSubcommand(cmd *cobra.Command, _ []string) error {
	if err := cmd.Help(); err != nil {
		return err
	}
	return usageError{errors.New("which command?")}
}

// badFlag is a usage error that names the flag which was perhaps meant. After
// a command that does not exist no flag can be known, and that is said first.
func badFlag(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if err := noSuchCommand(cmd, cmd.Flags().Args()); err != nil {
			return usageError{err}
		}
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return usageError{err}
	}
	// cobra compares names of commands only, so the flags stand for some.
	flags := cobra.Command{SuggestionsMinimumDistance: likeness}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	if like := flags.SuggestionsFor(unknown.GetSpecifiedName()); len(like) > 0 {
		err = fmt.Errorf("there is no flag --%s; did you mean --%s?", unknown.GetSpecifiedName(), like[0])
	}
	return usageError{err}
}
