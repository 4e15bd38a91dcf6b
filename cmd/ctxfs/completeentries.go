package main

import (
	"context"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"ctxfs/backing"
	"ctxfs/codec"
)

// completeEntries offers entries by their paths from the store's root, for at
// most max arguments: the agents, then what the one that was begun holds.
// What looks like a path of another kind the shell completes itself.
func (f *reachFlags) completeEntries(max int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= max {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if strings.HasPrefix(begun, "/") || strings.HasPrefix(begun, ".") || strings.HasPrefix(begun, "~") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		dir, name := path.Split(begun)
		found := f.completeIn(strings.TrimSuffix(dir, "/"), name, func(n string, isDir bool) bool {
			return isDir && !codec.Reserved[n] || !isDir && codec.IsEntry(n)
		})
		if len(found) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		// No space, since most of what is offered goes on after a slash.
		return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
}

// completeIn lists what the mount holds in dir, its paths from the root; "/"
// ends those of directories. Without a mount, or on an error, nothing.
func (f *reachFlags) completeIn(dir, begun string, wanted func(name string, isDir bool) bool) []string {
	r, ok := f.mounted()
	if !ok {
		return nil
	}
	infos, err := r.List(context.Background(), dir)
	if err != nil {
		return nil
	}
	var found []string
	for _, i := range infos {
		if !strings.HasPrefix(i.Name, begun) || !wanted(i.Name, i.Dir) || len(found) == completions {
			continue
		}
		full := path.Join(dir, i.Name)
		if i.Dir {
			full += "/"
		}
		found = append(found, full)
	}
	return found
}

// completeEntryFlags lets the flags of cmd that exist take what they name:
// agents, entries, types, and the tags that are in use.
func (f *reachFlags) completeEntryFlags(cmd *cobra.Command) {
	anyDir := func(dir string) cobra.CompletionFunc {
		return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			found := f.completeIn(dir, begun, func(n string, isDir bool) bool { return isDir && !codec.Reserved[n] })
			for i := range found {
				found[i] = path.Base(found[i])
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		}
	}
	entry := func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return f.completeEntries(1)(cmd, nil, begun)
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"agent":      anyDir(""),
		"tag":        anyDir(backing.Own + "/views/tag"),
		"type":       cobra.FixedCompletions(codec.Types, cobra.ShellCompDirectiveNoFileComp),
		"link":       entry,
		"links-to":   entry,
		"supersedes": entry,
	} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, complete) // which fails for missing flags only
		}
	}
}
