package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/transfer"
)

func newCopy() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "copy [flags] SRC DST",
		Short: "Copy a whole store, to or from a directory or a database",
		Long: `Copy the store SRC to DST: each a directory or a database, postgres://…; a
mountpoint stands for the store behind it. A copy in a directory is plain files.
Copied are entries with all their versions, what lies beside them, variables
with their types, memories, the history and the archives of ` + "`ctxfs gc`" + `, with
times, modes and owners. What is left out is said.

DST must be empty, and nobody may have it mounted. SRC may be in use: each file
is copied as it is at some moment, and what changes meanwhile is copied again.
What a program has not closed yet, and results and variables of sessions, which
end with the daemon, are no part of the store.

At the end every byte of both is compared, and ` + "`ctxfs check`" + ` has to find the same
in both. Until then DST is an unfinished copy, which cannot be mounted. After an
interruption the same command goes on where it was. What has been removed from
SRC meanwhile is only reported; --delete removes it from DST too.`,
		Example: `  ctxfs copy ~/.local/share/single-file-agents/context postgres://ctxfs@db/ctxfs
  ctxfs copy postgres://ctxfs@db/ctxfs ~/export
  ctxfs copy ~/context /backup/context`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, a []string) error { return copyStore(cmd, a[0], a[1], remove) },
	}
	cmd.Flags().BoolVar(&remove, "delete", false, "remove from an unfinished copy what SRC does not have any more")
	return cmd
}

func copyStore(cmd *cobra.Command, source, destination string, remove bool) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	from, err := storeNamed(source, all)
	if err != nil {
		return err
	}
	to, err := storeNamed(destination, all)
	if err != nil {
		return err
	}
	if err := there(from); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	if point := servedAt(all, to.Name); point != "" {
		return fmt.Errorf("the store %s is mounted at %s: `ctxfs umount %s` first", to, point, point)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p := &copyPrinter{out: cmd.OutOrStdout(), progress: newProgress(cmd.ErrOrStderr(), string(transfer.Copying))}
	copied, err := access.Copy(ctx, from, to, access.CopyOptions{
		Delete: remove, Resumed: p.resumed, LeftOut: p.leftOut, Progress: p.at, Checking: p.checking,
	})
	p.progress.end()
	if err != nil {
		return explainCopy(ctx, err, from, to)
	}
	return errors.Join(p.err, p.done(copied, from, to))
}

// storeNamed is the store that an argument names; an empty one names nothing.
func storeNamed(arg string, all []mount) (access.Location, error) {
	if arg == "" {
		return access.Location{}, usageError{errors.New("a store has no empty name")}
	}
	return storePath(arg, os.Getenv, all)
}

// explainCopy says what to do about err.
func explainCopy(ctx context.Context, err error, from, to access.Location) error {
	again := fmt.Sprintf("`ctxfs copy %s %s`", printable(from.Name), printable(to.Name))
	var extra *transfer.ExtraError
	switch {
	case errors.As(err, new(*localdir.LockedError)):
		return fmt.Errorf("%w; end that first", err)
	case errors.As(err, &extra):
		return fmt.Errorf("%w; the same command with --delete removes that from the copy, and ends it", err)
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: what was copied is kept, and %s goes on from there", again)
	}
	return err
}

// copyPrinter tells how a copy goes.
type copyPrinter struct {
	out      io.Writer
	progress *progress
	left     int
	err      error // of the first print that failed
}

// maxLeftOut is how much that is left out is named.
const maxLeftOut = 20

func (p *copyPrinter) print(format string, a ...any) {
	p.progress.clear()
	_, err := fmt.Fprintf(p.out, format, a...)
	p.err = errors.Join(p.err, err)
}

func (p *copyPrinter) resumed() { p.print("going on with an unfinished copy\n") }

func (p *copyPrinter) leftOut(path, why string) {
	if p.left++; p.left <= maxLeftOut {
		p.print("left out: %s: %s\n", printable(path), why)
	}
}

func (p *copyPrinter) at(at transfer.Progress) {
	p.progress.what, p.progress.count = string(at.Stage), at.Objects
	p.progress.show(fmt.Sprintf("(%s) %s", size(at.Bytes), at.Key))
}

func (p *copyPrinter) checking(key backing.Key) {
	if p.progress.what != "checking" {
		p.progress.what, p.progress.count = "checking", 0
	}
	p.progress.at(string(key))
}

func (p *copyPrinter) done(c access.Copied, from, to access.Location) error {
	if p.left > maxLeftOut {
		p.print("left out: %d more\n", p.left-maxLeftOut)
	}
	text := fmt.Sprintf("copied %s and %s (%s)", counted(c.Objects, "file", "files"), counted(c.Versions, "version", "versions"), size(c.Bytes))
	if c.There > 0 {
		text += fmt.Sprintf("; %d were there already", c.There)
	}
	if c.Removed > 0 {
		text += fmt.Sprintf("; %d removed", c.Removed)
	}
	if c.Again > 0 {
		text += "; " + strings.TrimSpace(from.Name) + " was written to meanwhile"
	}
	p.print("%s\n%s has the same contents as %s; the check of both finds %d problems, %d warnings\n",
		printable(text), printable(to.Name), printable(from.Name), c.Problems, c.Warnings)
	return p.err
}
