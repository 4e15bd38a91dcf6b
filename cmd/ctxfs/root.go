package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "ctxfs",
		Short:         "A durable context store for LLM agents, as a file system",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          args(noSuchCommand),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return usageError{errors.New("which command?")}
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newMount(), newUmount(), newStatus(), newCheck(), newProbe())
	root.AddCommand(newVar(), newResults(), newMemory(), newHistory(), newRecord())
	root.AddCommand(newNew(), newSupersede(), newEntryLog(), newDiff(), newRestore(), newSearch())
	return root
}

func noSuchCommand(_ *cobra.Command, a []string) error {
	if len(a) > 0 {
		return fmt.Errorf("there is no command %q", a[0])
	}
	return nil
}
