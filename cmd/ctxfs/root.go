package main

import "github.com/spf13/cobra"

// The groups in which `ctxfs help` shows the commands. Every command that is
// shown is in one of them.
const (
	groupMount   = "mount"
	groupEntries = "entries"
	groupVars    = "variables"
	groupRooms   = "rooms"
	groupAgents  = "agents"
	groupKeeping = "housekeeping"
	groupHelp    = "help"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "ctxfs",
		Short: "A durable context store for LLM agents, as a file system",
		Long: `ctxfs keeps what LLM agents find out, in a directory. It mounts a store, by
default at ~/context, and any program reads and writes it there with ordinary
file calls. What is written is checked and completed, earlier versions are kept,
and every change says who made it.

Begin with "ctxfs mount" and read ~/context/README. The commands below do the
same as files in the mount, and most of them work without a mount too.`,
		Example: `  ctxfs mount
  echo 'Tokens survive logging out.' | ctxfs new --agent alice --type finding logout
  ctxfs search tokens
  ctxfs status
  ctxfs umount`,
		Version:       thisBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          args(noSuchCommand),
		RunE:          needSubcommand,
	}
	root.SetFlagErrorFunc(badFlag)
	group(root, groupMount, "Mounts:", newMount(), newUmount(), newRun(), newStatus(), newProbe(), newWatchdog(), newMountHelper(), newRunPrivate())
	group(root, groupEntries, "Entries, the Markdown files of agents:",
		newNew(), newSearch(), newEntryLog(), newDiff(), newRestore(), newSupersede())
	group(root, groupVars, "Variables, values that agents pass each other:", newVar())
	group(root, groupRooms, "Other rooms of the store:", newResults(), newMemory(), newHistory(), newRecord())
	group(root, groupAgents, "For agents:", newMCP())
	group(root, groupKeeping, "Housekeeping:", newCheck(), newGC(), newCopy())
	group(root, groupHelp, "Help:", newVersion(), newCompletion(), newMan())
	root.SetHelpCommandGroupID(groupHelp)
	root.CompletionOptions.DisableDefaultCmd = true // completion.go has ours
	return root
}

// group puts commands below root, under a title of their own in its help.
func group(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}
