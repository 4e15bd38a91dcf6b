package main

import "github.com/spf13/cobra"

func newVar() *cobra.Command {
	f := &reachFlags{}
	cmd := &cobra.Command{
		Use:   "var",
		Short: "Set, read and pass variables",
		Long: `Variables are values under keys in scopes. Agents hand each other a small ref
instead of the content.

A scope is global, agent:ID or session:ID; "agent" and "session" alone are the
caller's own. A key is KEY, or SCOPE/KEY as ` + "`ctxfs var ls`" + ` prints it. Where a mount
serves the store the variables are files there too, vars/SCOPE/KEY.`,
		Example: `  seq 1 100000 | ctxfs var set numbers
  ctxfs var ref numbers > ref.json       # 200 bytes, whatever the value's size
  ctxfs var resolve - < ref.json`,
		Args: args(noSuchCommand),
		RunE: needSubcommand,
	}
	f.add(cmd.PersistentFlags())
	cmd.AddCommand(newVarSet(f), newVarResolve(f), newVarLs(f))
	for _, sub := range []*cobra.Command{newVarGet(f), newVarRef(f), newVarRm(f), newVarPromote(f), newVarSummary(f)} {
		sub.ValidArgsFunction = f.completeKeys
		cmd.AddCommand(sub)
	}
	return cmd
}

// flagsOfOne are the flags of a command on one variable.
type flagsOfOne struct {
	*reachFlags
	scope string
	json  bool
}

func (f *flagsOfOne) add(cmd *cobra.Command, scope, json string) {
	cmd.Flags().StringVar(&f.scope, "scope", "", scope)
	cmd.Flags().BoolVar(&f.json, "json", false, json)
	completeScopes(cmd, "scope")
}

func completeScopes(cmd *cobra.Command, flag string) {
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions([]string{"global", "agent", "session"}, cobra.ShellCompDirectiveNoFileComp))
}

func completeTypes(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]string{"text", "json", "memory", "result", "stream"}, cobra.ShellCompDirectiveNoFileComp))
}
