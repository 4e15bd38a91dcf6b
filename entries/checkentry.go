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

// Checker is who a changelog says completed an entry in the course of a check.
const Checker = "ctxfs check"

func (e *Entries) checkEntry(ctx context.Context, p place, report func(Problem)) error {
	if err := codec.CheckEntryName(p.name); err != nil {
		report(room.ProblemOf(p.path, 0, err))
		return nil
	}
	// Before the content, which then has every line of theirs.
	versions, err := e.store.Versions(ctx, p.key())
	if err != nil {
		return fmt.Errorf("check the versions of %s: %w", p.path, err)
	}
	content, err := e.readAll(ctx, p.key(), "")
	if errors.Is(err, backing.ErrNotFound) {
		return nil // moved away by another program since the listing
	}
	if err != nil {
		report(room.ProblemOf(p.path, 0, err))
		return ctx.Err()
	}
	known := e.known(p, "")
	known.Strict = false
	if _, err := codec.Complete(content, known); err != nil {
		report(room.ProblemOf(p.path, 0, err))
		return e.checkVersions(ctx, p, versions, content, report)
	}
	known.Strict = true
	if _, err := codec.Complete(content, known); err != nil {
		incomplete := room.ProblemOf(p.path, 0, err)
		incomplete.Warning = !e.o.Strict
		incomplete.Mend = e.saveAgain(p, "filled it in")
		report(incomplete)
	}
	checkChangelog(p, content, report)
	if err := e.checkLinks(ctx, p, content, report); err != nil {
		return err
	}
	return e.checkVersions(ctx, p, versions, content, report)
}

// saveAgain mends what every save sees to: missing fields, links to what is
// superseded. It takes nothing back that another host saves meanwhile.
func (e *Entries) saveAgain(p place, did string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		for tries := range conflictTries {
			yield(tries)
			if err := e.complete(ctx, p); !errors.Is(err, errMoved) {
				return did, err
			}
		}
		return "", errMoved
	}
}

// complete saves an entry as it is now, with what it lacks.
func (e *Entries) complete(ctx context.Context, p place) error {
	cur, err := e.current(ctx, p)
	if err != nil || !cur.exists {
		return errors.Join(err, errGone(cur))
	}
	known := e.known(p, "")
	known.Strict = false
	content, err := codec.Complete(cur.content, known)
	if err != nil {
		return err
	}
	by := room.Caller{Agent: Checker}
	return e.publish(ctx, save{p: p, by: by, content: content, mode: cur.meta.Mode, only: cur.meta.Revision})
}

func errGone(v version) error {
	if v.exists {
		return nil
	}
	return backing.ErrNotFound
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

// checkLinks reports links whose target is not there, and superseded entries
// that do not say so.
func (e *Entries) checkLinks(ctx context.Context, p place, content []byte, report func(Problem)) error {
	entry, err := codec.Parse(content)
	if err != nil {
		report(room.ProblemOf(p.path, 0, err))
		return nil
	}
	linked := map[string]bool{}
	for _, link := range entry.Links {
		target, err := e.checkLink(ctx, p, "links", link, report)
		if err != nil {
			return err
		}
		linked[target] = true
	}
	for _, link := range entry.Supersedes {
		target, err := e.checkLink(ctx, p, "supersedes", link, report)
		if err != nil {
			return err
		}
		if err := e.checkMark(ctx, p, entry, target, linked[target], report); err != nil {
			return err
		}
	}
	return nil
}

// checkLink reports a link whose target is not there, and returns the target.
func (e *Entries) checkLink(ctx context.Context, p place, field, link string, report func(Problem)) (string, error) {
	target, err := codec.ResolveLink(p.dir, link)
	if err != nil {
		report(room.ProblemOf(p.path, 0, err))
		return "", nil
	}
	_, err = e.store.Stat(ctx, backing.Key(target))
	if errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir) || errors.Is(err, backing.ErrBadKey) {
		report(Problem{Path: p.path, Field: field, Warning: true,
			Reason: fmt.Sprintf("the link %q leads nowhere: there is no %s", link, target),
			Fix:    "correct the path, or leave it if the target is still to come"})
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("follow a link of %s: %w", p.path, err)
	}
	return target, nil
}

// checkMark sees that p links to target, which it supersedes, and that target
// says so (design 3.4.7). Where p was written past the mount neither is done.
func (e *Entries) checkMark(ctx context.Context, p place, entry codec.Entry, target string, linked bool, report func(Problem)) error {
	old, err := placeOf(target)
	if target == "" || err != nil || !old.isEntry() || target == p.path {
		return nil
	}
	cur, err := e.current(ctx, old)
	if errors.Is(err, backing.ErrNotRegular) || err == nil && !cur.exists {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at what %s supersedes: %w", p.path, err)
	}
	if !linked {
		report(Problem{Path: p.path, Field: "links", Warning: true,
			Reason: "there is no link to " + target + ", which it supersedes", Fix: "the next save adds it",
			Mend: e.saveAgain(p, "added the link")})
	}
	m := mark{New: p.path, Old: target, Agent: entry.Agent, Time: e.now()}
	if m.Agent == "" {
		m.Agent = p.agent
	}
	if !isMarked(cur.content, m) {
		report(Problem{Path: target, Field: "changelog", Warning: true,
			Reason: "it does not say that " + p.path + " supersedes it",
			Fix:    fmt.Sprintf("add the line `- <ISO timestamp> [%s]: %s`", m.Agent, m.text()),
			Mend:   func(ctx context.Context) (string, error) { return "added the line", e.writeMark(ctx, m) }})
	}
	return nil
}
