package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

// mountFlags is the command line of mount.
type mountFlags struct {
	store      string
	foreground bool
	allowOther bool
	agent      string
	strict     bool
	debug      bool
	log        string
	options    string // of mount(8), with commas
	readyFD    int    // set by the process that starts the daemon, else 0
	rooms      roomFlags
}

func newMount() *cobra.Command {
	var f mountFlags
	cmd := &cobra.Command{
		Use:        "mount [flags] [MOUNTPOINT]",
		SuggestFor: []string{"start", "serve", "init"},
		Short:      "Mount a store; returns when the mount serves",
		Long: fmt.Sprintf(`Mount a context store at MOUNTPOINT, by default ~/context. The command returns
when the mount serves; a daemon stays behind and survives the terminal.
%s
The store is the first of: --store, $SFA_CONTEXT_STORE, contextStore.path in
$SFA_CONFIG or %s,
and %s.
Where it names a live ctxfs mount, the store behind that is meant.

%s`, mountAliases, "~/"+defaultConfig, "~/"+defaultStore, constants()),
		Example: "  ctxfs mount\n  ctxfs mount --store ~/notes --agent alice ~/context",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			mountpoint, err := mountpointArg(a)
			if err != nil {
				return err
			}
			if _, err := checkKernelOptions(f.options); err != nil {
				return err
			}
			if f.foreground {
				return serve(f, mountpoint)
			}
			return startDaemon(cmd, f, mountpoint)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.store, "store", "", "the directory to mount (made if missing), or the `URL` of a PostgreSQL database")
	flags.BoolVar(&f.foreground, "foreground", false, "serve in this process, until a signal or umount; tells systemd when it is ready")
	flags.BoolVar(&f.allowOther, "allow-other", false, "let other users in, with the kernel's permission checks")
	flags.StringVar(&f.agent, "agent", "", "who writes, for processes that do not say so themselves")
	flags.BoolVar(&f.strict, "strict", false, "refuse an entry that lacks a field, instead of filling it in")
	f.rooms.add(flags)
	flags.BoolVar(&f.debug, "debug", false, "log every request")
	flags.StringVar(&f.log, "log", "", "log to this `file` (default: below $XDG_STATE_HOME/ctxfs; with --foreground: standard error)")
	flags.StringVarP(&f.options, "options", "o", "", "options of mount(8): ro refuses every change, noexec runs no program; with a comma between")
	flags.IntVar(&f.readyFD, "ready-fd", 0, "")
	if err := flags.MarkHidden("ready-fd"); err != nil {
		panic(err) // a flag that is defined one line above
	}
	return cmd
}

const mountAliases = `Who writes is read from the writing process: $CTXFS_AGENT, else the last name of
$SFA_CALL_CHAIN, else --agent, else the program's name. The session is
$SFA_SESSION_ID. These are labels that anybody can choose, no authentication.
`

// mountpointArg returns the absolute mountpoint that args name.
func mountpointArg(args []string) (string, error) {
	if len(args) == 1 {
		return absolute(args[0])
	}
	home, err := homeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "context"), nil
}
