package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/index"
	"ctxfs/room"
)

func newCheck() *cobra.Command {
	var store string
	var asJSON, fix bool
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Look for what is not valid in the store, and mend it",
		Long: `Read everything in the store (entries with their links, changelogs and versions,
variables, results, memories with what waits for a backend, the history, the
index) and report what is wrong, where, and how to mend it. Without --fix it
changes nothing and works beside a daemon. Exit code 1 if there is a problem;
warnings, as of links whose target may still come, are none.

With --fix it mends what can be mended without losing anything: it fills fields
in as a save would, with a version and a line in the changelog, adds missing
marks and links of superseded entries, writes snapshots of memories anew,
finishes or clears away what a crash left, and removes a damaged index, which
the next mount makes anew. It never removes or changes what somebody wrote: the
report says how to do that. No daemon may have the store then, if it is a
directory; a database may be in use, and a save of another host meanwhile stays.`,
		Example: "  ctxfs check\n  ctxfs check --json --store ~/notes\n  ctxfs check --fix",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return check(cmd, store, &report{out: cmd.OutOrStdout(), json: asJSON, fix: fix})
		},
	}
	cmd.Flags().StringVar(&store, "store", "", "the store's directory or URL (default: as for mount)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one finding a line")
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what can be mended without losing anything")
	return cmd
}

func check(cmd *cobra.Command, flag string, r *report) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	store, err := storePath(flag, os.Getenv, all)
	if err != nil {
		return err
	}
	if err := there(store); err != nil {
		return fmt.Errorf("check the store: %w", err)
	}
	point := servedAt(all, store.Name)
	if r.fix && point != "" && !store.Remote() {
		return fmt.Errorf("the store %s is mounted at %s: `ctxfs umount %s` first, or check without --fix", store, point, point)
	}
	r.progress = newProgress(cmd.ErrOrStderr(), "checking")
	o := access.CheckOptions{Fix: r.fix, Mounted: point != "", Memories: os.Getenv("CONTEXT_DATA_DIR"),
		Looking: func(k backing.Key) { r.progress.at(string(k)) },
		Also:    checkIndex}
	err = access.Check(cmd.Context(), store, o, func(p room.Problem) { r.add(cmd.Context(), p) })
	r.progress.end()
	if locked := (*localdir.LockedError)(nil); errors.As(err, &locked) {
		return fmt.Errorf("%w; wait for its end, or check without --fix", err)
	}
	if err != nil {
		return err
	}
	return r.end(store.Name)
}

// there says where a store that is a directory is missing. A database is asked
// when it is opened.
func there(store access.Location) error {
	if store.Remote() {
		return nil
	}
	_, err := os.Stat(store.Name)
	return err
}

// servedAt is where the store is mounted, "" if nowhere.
func servedAt(all []mount, store string) string {
	for _, m := range all {
		if m.Type == fstype && m.Source == store {
			return m.Point
		}
	}
	return ""
}

// checkIndex reads the index in dir.
func checkIndex(ctx context.Context, dir string, report func(room.Problem)) error {
	path := filepath.Join(dir, indexFile)
	err := index.Check(ctx, path)
	if !index.IsDamaged(err) {
		return err
	}
	// A daemon that makes it has not come to an end yet, and mends it itself.
	report(room.Problem{Path: indexFile, Warning: true, Leftover: true, Reason: "it is damaged, or that of another version",
		Fix: "the next mount makes it anew, from the entries",
		Mend: func(context.Context) (string, error) {
			return "removed it: the next mount makes it anew", index.Remove(path)
		}})
	return nil
}
