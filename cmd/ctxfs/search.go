package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/entries"
	"ctxfs/index"
	"ctxfs/operations"
)

// searchFlags are the flags of `search`.
type searchFlags struct {
	reachFlags
	q            index.Query
	regex        string
	since, until string
	superseded   string
	limit        int
	json         bool
	color        string
}

// positional is the value of --regex without one: the argument is the
// expression.
const positional = "\x00"

func newSearch() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:        "search [flags] [QUERY…]",
		SuggestFor: []string{"find", "grep", "query"},
		Short:      "Find entries by words, expressions, tags, time and links",
		Long: `Find entries. QUERY is words, all of which must occur; "a phrase" in double
quotes, which the shell must not take away; a prefix*; and, after --, -word for a
word that must not occur. Case and accents do not matter. The best come first;
of words that very many entries hold, the newest. Without QUERY the newest
entries come first.

With --regex QUERY is one expression in the syntax of Go and rg (RE2), which must
match within a line; the newest entries come first. \w, \d and \b mean ASCII. An
expression with a literal part of three letters or more is fast.

All other conditions must hold too. The index is followed within a second by
edits of the store by other programs, and at once by what the mount commits.`,
		Example: `  ctxfs search token 'auth*'
  ctxfs search '"nested loop"' --type finding --since 7d
  ctxfs search --regex 'TODO\(\w+\)' --agent alice --json
  ctxfs search --links-to alice/20260221T143022-auth.md`,
		RunE: func(cmd *cobra.Command, a []string) error { return f.run(cmd, a, time.Now()) },
	}
	flags := cmd.Flags()
	f.addStore(flags)
	flags.StringVar(&f.regex, "regex", "", "QUERY is a regular expression")
	flags.Lookup("regex").NoOptDefVal = positional
	flags.BoolVarP(&f.q.IgnoreCase, "ignore-case", "i", false, "the case of letters does not matter to --regex")
	flags.StringVar(&f.q.Agent, "agent", "", "of the agent `NAME`")
	flags.StringVar(&f.q.Session, "session", "", "of the session `ID`")
	flags.StringVar(&f.q.Type, "type", "", "of the `TYPE`")
	flags.StringSliceVar(&f.q.Tags, "tag", nil, "with the `TAG`; may be given several times")
	flags.StringVar(&f.since, "since", "", "not older than `TIME`: a date, a date and time, or an age as 90m, 12h, 7d")
	flags.StringVar(&f.until, "until", "", "not younger than `TIME`")
	flags.StringVar(&f.q.LinksTo, "links-to", "", "that link to the entry at `PATH`")
	flags.StringVar(&f.superseded, "superseded", "any", "`WHICH`: any, no (those that no other supersedes), only")
	flags.IntVarP(&f.limit, "limit", "n", index.DefaultLimit, "at most `N` entries; 0 is all")
	flags.BoolVar(&f.json, "json", false, "print JSON: one entry a line")
	addColor(flags, &f.color)
	f.completeEntryFlags(cmd)
	return cmd
}

func (f *searchFlags) run(cmd *cobra.Command, a []string, now time.Time) error {
	colored, err := colors(f.color, cmd.OutOrStdout(), os.Getenv)
	if err == nil {
		err = f.query(a, now)
	}
	if err != nil {
		return err
	}
	hits, err := f.search(cmd)
	if bad := (*index.QueryError)(nil); errors.As(err, &bad) {
		return usageError{bad}
	}
	if err != nil {
		return err
	}
	if len(hits) == 0 && !f.json {
		fmt.Fprintln(cmd.ErrOrStderr(), "ctxfs: nothing was found")
	}
	for _, h := range hits {
		if f.json {
			err = printJSON(cmd.OutOrStdout(), hitJSON(h))
		} else {
			err = printHit(cmd.OutOrStdout(), h, colored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// query puts the command line into f.q.
func (f *searchFlags) query(a []string, now time.Time) error {
	text := strings.Join(a, " ")
	switch {
	case f.regex == "":
		f.q.Words = text
	case f.regex != positional && text != "":
		return usageError{errors.New("words and a regular expression exclude each other")}
	case f.regex != positional:
		f.q.Regex = f.regex
	case len(a) != 1:
		return usageError{errors.New("--regex takes one expression; put it into single quotes")}
	default:
		f.q.Regex = text
	}
	if f.q.Words == "" && strings.Join(a, "") != "" && f.q.Regex == "" {
		return usageError{errors.New("the query is empty")}
	}
	f.q.Limit = f.limit
	if f.limit <= 0 {
		f.q.Limit = -1
	}
	switch f.superseded {
	case "any":
	case "no", "only":
		f.q.Superseded = index.Superseded(f.superseded)
	default:
		return usageError{fmt.Errorf("--superseded is any, no or only, not %q", f.superseded)}
	}
	var err error
	if f.q.Since, err = operations.Moment(f.since, now, false); err != nil {
		return err
	}
	if f.q.Until, err = operations.Moment(f.until, now, true); err != nil {
		return err
	}
	if f.q.LinksTo != "" {
		f.q.LinksTo, err = f.entry(f.q.LinksTo)
	}
	return err
}

// search asks the index of a daemon, where one serves the store, else one of
// its own.
func (f *searchFlags) search(cmd *cobra.Command) ([]index.Hit, error) {
	at, point, err := findStore(f.store)
	if err != nil {
		return nil, err
	}
	if point != "" {
		return f.beside(cmd, at, point)
	}
	if err := there(at); err != nil {
		return nil, fmt.Errorf("search the store: %w", err)
	}
	store, dir, err := openForSearch(cmd.Context(), at)
	if locked := (*localdir.LockedError)(nil); errors.As(err, &locked) {
		fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: %v; what changed since then may be missing\n", locked)
		return f.readFile(cmd.Context(), at, filepath.Join(at.Name, indexFile))
	}
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	room, err := entries.New(store, entries.Options{Log: log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	found, err := openSearching(dir, store.ReadOnly(), room, log)
	if err != nil {
		return nil, errors.Join(err, room.Close(), store.Close())
	}
	err = waitForIndex(cmd.Context(), cmd.ErrOrStderr(), found.Status)
	var hits []index.Hit
	if err == nil {
		hits, err = found.Search(cmd.Context(), f.q)
	}
	return hits, errors.Join(err, found.Close(), room.Close(), store.Close())
}

// openForSearch takes the store as its writer, for a moment: another command
// may have it just now.
func openForSearch(ctx context.Context, at access.Location) (store backing.Store, dir string, err error) {
	deadline := time.After(lockWait)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		store, dir, err := access.Open(ctx, at, slog.New(slog.DiscardHandler))
		if locked := (*localdir.LockedError)(nil); !errors.As(err, &locked) {
			return store, dir, err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return nil, "", err
		}
	}
}

// waitForIndex waits until the index has everything, and says on a terminal
// how far it is.
func waitForIndex(ctx context.Context, w io.Writer, status func(context.Context) index.Status) error {
	f, ok := w.(*os.File)
	show := ok && isTerminal(f)
	if show {
		defer fmt.Fprint(f, "\r\x1b[K")
	}
	for {
		s := status(ctx)
		if s.Error != "" {
			return fmt.Errorf("build the index: %s", s.Error)
		}
		if !s.Building {
			return ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if show {
			fmt.Fprintf(f, "\r\x1b[Kbuilding the index: %d of %d entries", s.Entries, s.Entries+s.Todo)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
