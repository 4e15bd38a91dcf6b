package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctxfs/codec"
	"ctxfs/entries"
	"ctxfs/operations"
)

// newFlags are what `new` is told of an entry beside its body.
type newFlags struct {
	reachFlags
	kind                    string
	tags, links, supersedes []string
}

func newNew() *cobra.Command {
	var f newFlags
	cmd := &cobra.Command{
		Use:        "new [flags] --type TYPE SLUG",
		SuggestFor: []string{"add", "create", "write"},
		Short:      "Write a new entry, its body from standard input",
		Long: `Write a new entry and print its path: <agent>/<timestamp>-SLUG.md, or
<agent>/<session>/<timestamp>-SLUG.md where there is a session whose name can be
a directory. The body is read from standard input; the frontmatter is made from
the flags. The path is below the mountpoint where a mount serves the store, else
below the store's directory.

The types are ` + strings.Join(codec.Types, ", ") + `.`,
		Example: `  echo "The token is never checked." | ctxfs new --type finding --tags auth,security auth-token
  ctxfs new --type decision --agent alice --link bob/20260221T143022-x.md use-wal < body.md`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return f.run(cmd, a[0], time.Now().UTC()) },
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.kind, "type", "", "the `TYPE` of the entry (required)")
	flags.StringSliceVar(&f.tags, "tags", nil, "`TAGS` with commas between them")
	flags.StringArrayVar(&f.links, "link", nil, "link to the entry at `PATH`; may be given several times")
	flags.StringArrayVar(&f.supersedes, "supersedes", nil, "take the place of the entry at `PATH`; may be given several times")
	f.completeEntryFlags(cmd)
	return cmd
}

func (f *newFlags) run(cmd *cobra.Command, slug string, now time.Time) error {
	if f.kind == "" {
		return usageError{fmt.Errorf("which --type? One of %s", strings.Join(codec.Types, ", "))}
	}
	if err := operations.CheckSlug(slug); err != nil {
		return err
	}
	for _, list := range [][]string{f.links, f.supersedes} {
		for i, arg := range list {
			path, err := f.entry(arg)
			if err != nil {
				return err
			}
			list[i] = path
		}
	}
	return f.reach(cmd, func(ctx context.Context, r *reached) error {
		if _, err := r.OwnDir(); err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), entries.MaxSize+1))
		if err != nil {
			return fmt.Errorf("read the body: %w", err)
		}
		path, err := r.WriteEntry(ctx, operations.NewEntry{Slug: slug, Type: f.kind,
			Tags: f.tags, Links: f.links, Supersedes: f.supersedes, Body: body}, now)
		if err != nil {
			return err
		}
		switch {
		case r.Point != "":
			path = filepath.Join(r.Point, path)
		case !r.store.Remote():
			path = filepath.Join(r.store.Name, path)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
		return err
	})
}
