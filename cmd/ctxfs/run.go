package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/codec"
)

// running is a command with its identity.
type running struct {
	store, agent, session, at string
	private                   bool
	argv                      []string
}

func newRun() *cobra.Command {
	var r running
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command as an agent, with the store mounted",
		Long: `Run a command with the identity of an agent: $CTXFS_AGENT, $SFA_SESSION_ID (a new
one where none is given), $SFA_CALL_CHAIN with the agent added at its end, and
$SFA_CONTEXT_STORE, the path of the mount. A live mount of the store is used;
where there is none it is mounted first, and stays. The command takes the place
of ctxfs, so that its exit status, signals and the terminal are its own: 127
says that it was not found, 126 that it cannot be run.

With --private the mount exists for the command and what it starts alone, in a
mount namespace of its own, and ends with it; what was written is committed
first. Ordinary users need no rights for it, but a kernel that lets them have
user namespaces.`,
		Example: `  ctxfs run --agent alice -- claude
  ctxfs run --agent ci --session build-7 --private --store ./notes -- make report`,
		Args: func(cmd *cobra.Command, a []string) error {
			if len(a) == 0 {
				return usageError{errors.New("which command? ctxfs run --agent NAME -- COMMAND [ARG...]")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, a []string) error {
			r.argv = a
			return r.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.store, "store", "", "the store's `DIR`, URL, or a mountpoint of it (default: as for mount)")
	flags.StringVar(&r.agent, "agent", "", "the agent's `NAME` (default $CTXFS_AGENT, or the last of $SFA_CALL_CHAIN)")
	flags.StringVar(&r.session, "session", "", "the session's `ID` (default $SFA_SESSION_ID, or a new one)")
	flags.StringVar(&r.at, "at", "", "the mountpoint `DIR` (default: where the store is mounted, or ~/context)")
	flags.BoolVar(&r.private, "private", false, "mount for this command alone, until it ends")
	flags.SetInterspersed(false)
	return cmd
}

func (r *running) run(cmd *cobra.Command) error {
	if err := r.identify(); err != nil {
		return err
	}
	store, point, err := findStore(r.store)
	if err != nil {
		return err
	}
	at, err := r.mountpoint(point)
	if err != nil {
		return err
	}
	if r.private {
		if point != "" && !store.Remote() {
			return fmt.Errorf("the store %s is mounted at %s already, and one daemon writes a store: leave out --private, or name another --store", store, point)
		}
		return r.inNamespace(cmd, store, at)
	}
	switch {
	case point == "":
		if err := mountBefore(cmd, store, at); err != nil {
			return err
		}
	case at != point:
		return fmt.Errorf("the store %s is mounted at %s: leave out --at, or `ctxfs umount %s` first", store, point, point)
	}
	if err := r.setenv(at); err != nil {
		return err
	}
	return become(cmd, r.argv)
}

// identify settles who the command is.
func (r *running) identify() error {
	for _, label := range []string{r.agent, r.session} {
		if label != codec.CleanLabel(label) || strings.Contains(label, ",") {
			return usageError{fmt.Errorf("nobody can be called %q: use letters, digits and any of .-_: in a name", label)}
		}
	}
	c := (&reachFlags{agent: r.agent, session: r.session}).caller(os.Getenv)
	if c.Agent == "" {
		return usageError{errors.New("name the agent, with --agent")}
	}
	r.agent, r.session = c.Agent, c.Session
	if r.session == "" {
		r.session = uuid.NewString()
	}
	return nil
}

// mountpoint is where the command finds the store, which is mounted at point
// now; "" is nowhere.
func (r *running) mountpoint(point string) (string, error) {
	switch {
	case r.at != "":
		return absolute(r.at)
	case point != "":
		return point, nil
	}
	home, err := homeDir()
	return filepath.Join(home, "context"), err
}

// setenv gives this process the environment that the command will have.
func (r *running) setenv(mountpoint string) error {
	chain := r.agent
	if before := os.Getenv("SFA_CALL_CHAIN"); before != "" {
		chain = before + "," + r.agent
	}
	for name, value := range map[string]string{"CTXFS_AGENT": r.agent, "SFA_SESSION_ID": r.session,
		"SFA_CALL_CHAIN": chain, "SFA_CONTEXT_STORE": mountpoint} {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

// mountBefore mounts the store by a process of its own: the daemon must not
// become a child of the command.
func mountBefore(cmd *cobra.Command, store access.Location, at string) error {
	mount := exec.Command("/proc/self/exe", "mount", "--store", store.Name, at)
	if store.Remote() { // whose password is not for the command line
		mount = exec.Command("/proc/self/exe", "mount", at)
		mount.Env = append(os.Environ(), "SFA_CONTEXT_STORE="+store.URL())
	}
	mount.Args[0] = "ctxfs"
	mount.Stdout, mount.Stderr = cmd.ErrOrStderr(), cmd.ErrOrStderr()
	err := mount.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return errSilent // it has said why
	}
	return err
}

// become puts the command in the place of this process. It returns only where
// that fails.
func become(cmd *cobra.Command, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err == nil {
		err = syscall.Exec(path, argv, os.Environ())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: cannot run %s: %v\n", printable(argv[0]), err)
	return cannotRun(err)
}

// cannotRun is what a shell says of a command that it cannot run.
func cannotRun(err error) exitStatus {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return statusNotFound
	}
	return statusCannotRun
}
