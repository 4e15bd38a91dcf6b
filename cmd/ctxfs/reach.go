package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ctxfs/access"
	"ctxfs/backing/localdir"
	"ctxfs/codec"
	"ctxfs/operations"
	"ctxfs/room"
)

// lockWait is how long a command waits for another command that has the
// store, or for a daemon that is just starting.
const lockWait = 2 * time.Second

// reachFlags are the flags of every command that reads or writes files of the
// store beside a daemon.
type reachFlags struct {
	store, agent, session string

	wait time.Duration // for a lock; 0 is lockWait
}

func (f *reachFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.store, "store", "", "the store's `DIR`, URL, or a mountpoint of it (default: as for mount)")
	flags.StringVar(&f.agent, "agent", "", "act as the agent `NAME` (default $CTXFS_AGENT, or the last of $SFA_CALL_CHAIN)")
	flags.StringVar(&f.session, "session", "", "act in the session `ID` (default $SFA_SESSION_ID)")
}

// caller is who the command acts for. getenv is os.Getenv.
func (f *reachFlags) caller(getenv func(string) string) room.Caller {
	c := room.Caller{PID: uint32(os.Getpid()), UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	chain := getenv("SFA_CALL_CHAIN")
	for _, name := range []string{f.agent, getenv("CTXFS_AGENT"), chain[strings.LastIndexByte(chain, ',')+1:]} {
		if c.Agent == "" {
			c.Agent = codec.CleanLabel(name)
		}
	}
	for _, id := range []string{f.session, getenv("SFA_SESSION_ID")} {
		if c.Session == "" {
			c.Session = codec.CleanLabel(id)
		}
	}
	return c
}

// reached is the files of the store that a command works on.
type reached struct {
	operations.Actor
	store access.Location
}

func newReached(files access.Files, store access.Location, point string, caller room.Caller) *reached {
	return &reached{operations.Actor{Files: files, Point: point, Caller: caller}, store}
}

// reach calls do with the store. Where a mount serves it that is asked,
// otherwise it is opened here.
func (f *reachFlags) reach(cmd *cobra.Command, do func(ctx context.Context, r *reached) error) error {
	r, err := f.open(cmd.ErrOrStderr(), access.Options{})
	if err != nil {
		return err
	}
	return errors.Join(do(cmd.Context(), r), r.Close())
}

func (f *reachFlags) open(stderr io.Writer, o access.Options) (*reached, error) {
	caller := f.caller(os.Getenv)
	o.Caller = caller
	o.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if o.Memories.Own == nil {
		o.Memories.Own = access.MemoriesIn(os.Getenv("CONTEXT_DATA_DIR"), o.Log)
	}
	deadline := time.After(cmp.Or(f.wait, lockWait))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		store, point, err := findStore(f.store)
		if err != nil {
			return nil, err
		}
		if point != "" {
			if err := beNamed(caller); err != nil {
				return nil, err
			}
			return newReached(access.NewMount(point, nil), store, point, caller), nil
		}
		files, err := access.OpenStore(context.Background(), store, o)
		if err == nil {
			return newReached(files, store, "", caller), nil
		}
		if locked := (*localdir.LockedError)(nil); !errors.As(err, &locked) {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return nil, fmt.Errorf("%w, and no mount of it can be reached from here", err)
		}
	}
}

// findStore returns where the store is and where a daemon of this user serves
// it, "" where none does.
func findStore(flag string) (store access.Location, point string, err error) {
	all, err := mounts()
	if err != nil {
		return store, "", err
	}
	if store, err = storePath(flag, os.Getenv, all); err != nil {
		return store, "", err
	}
	if m, ok := mountNamed(flag, os.Getenv, all); ok {
		all = append([]mount{m}, all...) // a database may be mounted more than once
	}
	for _, m := range all {
		if m.Type != fstype || m.Source != store.Name {
			continue
		}
		switch state := patientProbe(m.Point); state {
		case serving:
			return store, m.Point, nil
		case hung:
			return store, "", fmt.Errorf("the store %s is mounted at %s, which does not answer; `ctxfs umount --force %s` ends it", store, m.Point, m.Point)
		}
	}
	return store, "", nil
}

// probes is how often a mount is asked before it counts as hung: on a machine
// with much else to do one answer may take longer than probeWait.
const probes = 5

func patientProbe(point string) state {
	for range probes - 1 {
		if _, state := probe(point); state != hung {
			return state
		}
	}
	_, state := probe(point)
	return state
}

// beNamed sees to it that the daemon knows the caller by the names that the
// flags say: it reads them in the environment that a process was started with.
func beNamed(c room.Caller) error {
	env := (&reachFlags{}).caller(os.Getenv)
	if env.Agent == c.Agent && env.Session == c.Session {
		return nil
	}
	for name, value := range map[string]string{"CTXFS_AGENT": c.Agent, "SFA_SESSION_ID": c.Session} {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("act as %s: %w", c.Agent, err)
		}
	}
	if now := (&reachFlags{}).caller(os.Getenv); now.Agent != c.Agent || now.Session != c.Session {
		return fmt.Errorf("nobody can be called %q in the session %q", c.Agent, c.Session)
	}
	if err := syscall.Exec("/proc/self/exe", os.Args, os.Environ()); err != nil {
		return fmt.Errorf("act as %s: %w", c.Agent, err)
	}
	return nil
}

// needsMount fails where what would die with this process.
func (r *reached) needsMount(what, instead string) error {
	if r.Point != "" {
		return nil
	}
	return fmt.Errorf("%s would be gone at once: no daemon serves the store %s; `ctxfs mount` first%s", what, r.store, instead)
}

// input is the content that a command is given: a file, or standard input
// for "-" and for nothing.
func input(cmd *cobra.Command, args []string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, err
	}
	return f, nil
}
