package entries

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// Problem is something that [Entries.Check] found. A Warning is nothing
// invalid: a link whose target may come later, a field that the next save
// fills in, a refused draft that waits.
type Problem struct {
	Path        string // from the store's root
	Line        int    // 1-based, 0 where none applies
	Field       string // of the frontmatter, "" where none
	Reason, Fix string
	Warning     bool
}

// checkPage is how many names one listing of a check asks for.
const checkPage = 512

// Check reads every entry of the store and reports what is wrong with it. It
// changes nothing and may run beside writers, of whose entries it then sees
// the old or the new version. The error is the store's or ctx's; problems are
// none.
func (e *Entries) Check(ctx context.Context, report func(Problem)) error {
	return e.eachIn(ctx, "", func(p place, m backing.Meta) error {
		if !m.Dir || !agentName(p.name) {
			return nil // the root holds other things, which are not ours to judge
		}
		return e.checkTree(ctx, p.key(), report)
	})
}

// checkTree checks an agent's or session's directory.
func (e *Entries) checkTree(ctx context.Context, dir backing.Key, report func(Problem)) error {
	return e.eachIn(ctx, dir, func(p place, m backing.Meta) error {
		kind, shown := p.kindOf(m)
		switch {
		case !shown:
			report(Problem{Path: p.path, Warning: true, Reason: "not shown in the mount: " + what(m),
				Fix: "keep it outside the store, or as a file in an agent's or session's directory"})
		case kind == room.Dir:
			return e.checkTree(ctx, p.key(), report)
		case kind == room.Object:
			return e.checkEntry(ctx, p, report)
		case kind == room.Plain && strings.HasSuffix(p.name, rejEnd):
			return e.checkReject(ctx, p, report)
		}
		return nil
	})
}

func what(m backing.Meta) string {
	switch {
	case m.Dir:
		return "a directory with this name or at this depth"
	case m.Link:
		return "a symbolic link"
	}
	return "a special file"
}

// eachIn calls f for every member of dir.
func (e *Entries) eachIn(ctx context.Context, dir backing.Key, f func(place, backing.Meta) error) error {
	for after := ""; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := e.store.List(ctx, dir, after, checkPage)
		if err != nil {
			return fmt.Errorf("check %s: %w", dir, err)
		}
		for _, m := range page {
			after = m.Key.Name()
			p, err := placeOf(string(m.Key))
			if err != nil {
				continue // below something that was reported, or at the root
			}
			if err := f(p, m); err != nil {
				return err
			}
		}
		if len(page) < checkPage {
			return nil
		}
	}
}

func (e *Entries) checkReject(ctx context.Context, p place, report func(Problem)) error {
	_, ours, err := e.isReject(ctx, p.path)
	if errors.Is(err, backing.ErrNotFound) {
		return nil
	}
	if ours {
		report(Problem{Path: p.path, Warning: true, Reason: "a refused draft waits here",
			Fix: "write it, mended, to the entry; or remove it"})
	}
	return err
}

func (e *Entries) checkEntry(ctx context.Context, p place, report func(Problem)) error {
	if err := codec.CheckEntryName(p.name); err != nil {
		reportError(p, err, false, report)
		return nil
	}
	content, err := e.readAll(ctx, p.key(), "")
	if errors.Is(err, backing.ErrNotFound) {
		return nil // moved away by another program since the listing
	}
	if err != nil {
		return err
	}
	known := e.known(p, "")
	known.Strict = false
	if _, err := codec.Complete(content, known); err != nil {
		reportError(p, err, false, report)
		return nil
	}
	known.Strict = true
	if _, err := codec.Complete(content, known); err != nil {
		reportError(p, err, !e.o.Strict, report)
	}
	checkChangelog(p, content, report)
	return e.checkLinks(ctx, p, content, report)
}

func reportError(p place, err error, warning bool, report func(Problem)) {
	r := refusalOf(err, p.path)
	report(Problem{Path: p.path, Line: r.Line, Field: r.Field, Reason: r.Reason, Fix: r.Fix, Warning: warning})
}

// checkChangelog reports the lines that look like one of a changelog but do
// not say who and when.
func checkChangelog(p place, content []byte, report func(Problem)) {
	for _, line := range codec.ChangelogLines(content) {
		if text, ok := strings.CutPrefix(line, "- "); ok {
			stamp, rest, _ := strings.Cut(text, " ")
			if len(stamp) < len("2006-01-02") || !strings.HasPrefix(rest, "[") {
				report(Problem{Path: p.path, Field: "changelog", Warning: true,
					Reason: fmt.Sprintf("a line of the changelog does not say when and by whom: %.80q", line),
					Fix:    "write it as `- <ISO timestamp> [<agent>]: <text>`"})
			}
		}
	}
}

// checkLinks reports links whose target is not there.
func (e *Entries) checkLinks(ctx context.Context, p place, content []byte, report func(Problem)) error {
	entry, err := codec.Parse(content)
	if err != nil {
		reportError(p, err, false, report)
		return nil
	}
	fields := []struct {
		name  string
		links []string
	}{{"links", entry.Links}, {"supersedes", entry.Supersedes}}
	for _, field := range fields {
		for _, link := range field.links {
			target, err := codec.ResolveLink(p.dir, link)
			if err != nil {
				reportError(p, err, false, report)
				continue
			}
			_, err = e.store.Stat(ctx, backing.Key(target))
			if errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir) || errors.Is(err, backing.ErrBadKey) {
				report(Problem{Path: p.path, Field: field.name, Warning: true,
					Reason: fmt.Sprintf("the link %q leads nowhere: there is no %s", link, target),
					Fix:    "correct the path, or leave it if the target is still to come"})
			} else if err != nil {
				return fmt.Errorf("follow a link of %s: %w", p.path, err)
			}
		}
	}
	return nil
}
