package main

import (
	"io"

	"github.com/spf13/cobra"
)

// shells are those that `completion` knows, with what writes their scripts.
var shells = map[string]func(root *cobra.Command, out io.Writer) error{
	"bash": func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) },
	"zsh":  (*cobra.Command).GenZshCompletion,
	"fish": func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) },
}

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the script that lets a shell complete ctxfs",
		Long: `Print a script that lets the shell complete commands, flags, and, where a mount
serves the store, the names of variables, memories and entries. The Debian
package and scripts/install put it in its place; by hand, for one user:

    bash  ~/.local/share/bash-completion/completions/ctxfs
    zsh   _ctxfs in a directory of $fpath, before compinit
    fish  ~/.config/fish/completions/ctxfs.fish`,
		Example: `  source <(ctxfs completion bash)
  ctxfs completion zsh > ~/.zfunc/_ctxfs
  ctxfs completion fish > ~/.config/fish/completions/ctxfs.fish`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      args(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return shells[a[0]](cmd.Root(), cmd.OutOrStdout())
		},
	}
}
