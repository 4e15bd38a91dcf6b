package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/codec"
	"ctxfs/housekeeping"
)

// gcFlags is the command line of gc.
type gcFlags struct {
	reachFlags
	olderThan             string
	agent                 string
	dryRun, restore, list bool
	json                  bool
}

func newGC() *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc [flags] [ARCHIVE [ENTRY]]",
		Short: "Archive and remove what is older than it has to be kept",
		Long: `Archive entries, old versions and other files that were not changed for longer
than their agent keeps them, and remove them from the store; clear the results
of sessions that have ended. How long is agents.<name>.contextRetention in the
configuration ($SFA_CONFIG or ~/` + defaultConfig + `), as 30d, 12w, 1y
or never; 30d where nothing is said.

What an entry that stays links to, supersedes or names stays too. --dry-run says
what would go, how much that is, and why; and why something old stays.

The archive, a tar file below .ctxfs/archives of the store, is written and read
again before anything is removed. --list shows the archives, or what is in one;
--restore brings an entry back from one, with its versions.`,
		Example: `  ctxfs gc --dry-run
  ctxfs gc --older-than 12w --agent alice
  ctxfs gc --list 20260322T040000Z
  ctxfs gc --restore 20260322T040000Z alice/20260221T143022-auth.md`,
		Args: f.args,
		RunE: func(cmd *cobra.Command, a []string) error {
			r, err := f.request(a, os.Getenv)
			if err != nil {
				return err
			}
			return f.run(cmd, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.store, "store", "", "the store's `DIR`, or a mountpoint of it (default: as for mount)")
	flags.StringVar(&f.olderThan, "older-than", "", "keep all agents' files for this `TIME`, as 30d, 12w or 0d, whatever is configured")
	flags.StringVar(&f.agent, "agent", "", "only what is in the directory of the agent `NAME`")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	flags.BoolVar(&f.list, "list", false, "list the archives, or what is in ARCHIVE")
	flags.BoolVar(&f.restore, "restore", false, "bring ENTRY back from ARCHIVE")
	flags.BoolVar(&f.json, "json", false, "print JSON: one object a line")
	f.completeEntryFlags(cmd)
	return cmd
}

// args checks what is asked for.
func (f *gcFlags) args(_ *cobra.Command, a []string) error {
	cleaning := f.dryRun || f.olderThan != "" || f.agent != ""
	switch {
	case f.list && f.restore || cleaning && (f.list || f.restore):
		return usageError{errors.New("--list and --restore go with no other flag than --store and --json")}
	case f.restore && len(a) != 2:
		return usageError{errors.New("what should be restored, and from where? say --restore ARCHIVE ENTRY; `ctxfs gc --list` names the archives")}
	case f.list && len(a) > 1, !f.list && !f.restore && len(a) > 0:
		return usageError{fmt.Errorf("%q is too much; an archive belongs to --list or --restore", a[len(a)-1])}
	}
	return nil
}

// request is what the command line asks for. getenv is os.Getenv.
func (f *gcFlags) request(a []string, getenv func(string) string) (r housekeeping.Request, err error) {
	switch {
	case f.list && len(a) == 1:
		return housekeeping.Request{List: &housekeeping.List{Archive: a[0]}}, nil
	case f.list:
		return housekeeping.Request{List: &housekeeping.List{}}, nil
	case f.restore:
		path, err := f.pathInStore(a[1])
		return housekeeping.Request{Restore: &housekeeping.Restore{Archive: a[0], Path: path}}, err
	}
	r = housekeeping.Request{Agent: f.agent, DryRun: f.dryRun}
	if f.olderThan == "" {
		r.Keep, err = configuredRetentions(getenv)
		return r, err
	}
	if r.Keep.Default, err = codec.ParseRetention(f.olderThan); err != nil {
		err = usageError{fmt.Errorf("--older-than: %w", err)}
	}
	return r, err
}

// run has the request done and prints what becomes of it.
func (f *gcFlags) run(cmd *cobra.Command, r housekeeping.Request) error {
	store, point, err := findStore(f.store)
	if err != nil {
		return err
	}
	if err := there(store); err != nil && point == "" {
		return fmt.Errorf("keep the store in order: %w", err) // it must not be made
	}
	return f.reach(cmd, func(ctx context.Context, files *reached) error {
		if _, err := files.Stat(ctx, r.Agent); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no agent %s in the store %s", printable(r.Agent), store)
		} else if err != nil {
			return err
		}
		keeper, ok := files.Files.(access.Housekeeping)
		if !ok {
			return fmt.Errorf("%T cannot be kept in order", files.Files)
		}
		p := newGCPrinter(cmd.OutOrStdout(), cmd.ErrOrStderr(), r, f.json)
		err := keeper.Housekeep(ctx, r, p.event)
		return errors.Join(err, p.end())
	})
}

// pathInStore is the path from the store's root of a file that is not there:
// arg is that path, or an absolute one in the mount or in the store.
func (f *gcFlags) pathInStore(arg string) (string, error) {
	rel := filepath.Clean(arg)
	if filepath.IsAbs(rel) {
		store, point, err := findStore(f.store)
		if err != nil {
			return "", err
		}
		for _, top := range []string{point, store.Name} {
			if top != "" && inside(rel, top) {
				rel = strings.TrimPrefix(rel[len(top):], "/")
			}
		}
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is no path in the store; name it as `ctxfs gc --list ARCHIVE` does", printable(arg))
	}
	return rel, nil
}
