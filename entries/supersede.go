package entries

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// mark is one line to write: New supersedes Old (design 3.4.7). Paths are
// from the store's root.
type mark struct {
	New   string    `json:"new"`
	Old   string    `json:"old"`
	Agent string    `json:"agent"`
	Time  time.Time `json:"time"`
}

func (m mark) text() string { return "Marked as superseded, see " + m.New }

// linkSuperseded puts what content supersedes into its links, and returns the
// targets that before did not name yet. Those must be there.
func (e *Entries) linkSuperseded(ctx context.Context, s save, content, before []byte) (linked []byte, targets []string, err error) {
	p := s.p
	entry, err := codec.Parse(content)
	if err != nil || len(entry.Supersedes) == 0 {
		return content, nil, err
	}
	known := supersededBy(p, before)
	linksTo := map[string]bool{}
	for _, link := range entry.Links {
		if target, err := codec.ResolveLink(p.dir, link); err == nil {
			linksTo[target] = true
		}
	}
	for _, link := range entry.Supersedes {
		target, err := codec.ResolveLink(p.dir, link)
		if err != nil {
			return nil, nil, supersedesRefusal(p, fmt.Sprintf("%q is no link: %v", link, err))
		}
		if !known[target] {
			if err := e.checkSuperseded(ctx, s, link, target); err != nil {
				return nil, nil, err
			}
			known[target] = true
			targets = append(targets, target)
		}
		if !linksTo[target] {
			linksTo[target] = true
			if content, err = codec.AddLink(content, link); err != nil {
				return nil, nil, err
			}
		}
	}
	return content, targets, nil
}

// supersededBy are the targets that content at p names; none where it is
// invalid.
func supersededBy(p place, content []byte) map[string]bool {
	targets := map[string]bool{}
	entry, err := codec.Parse(content)
	if err != nil {
		return targets
	}
	for _, link := range entry.Supersedes {
		if target, err := codec.ResolveLink(p.dir, link); err == nil {
			targets[target] = true
		}
	}
	return targets
}

// checkSuperseded says whether target is another entry in the store, which
// the writer may change: it gets a line.
func (e *Entries) checkSuperseded(ctx context.Context, s save, link, target string) error {
	if target == s.p.path {
		return supersedesRefusal(s.p, "an entry cannot supersede itself")
	}
	old, ok, err := e.stored(ctx, target)
	if err != nil {
		return err
	}
	if !ok {
		return supersedesRefusal(s.p, fmt.Sprintf("%q is no entry: there is no %s", link, target))
	}
	if s.by.UID != old.UID && !old.Permits(s.by, 2) {
		return &codec.Refusal{Errno: syscall.EACCES, Path: s.p.path, Field: "supersedes",
			Reason: fmt.Sprintf("%s belongs to another user, and you may not write to it", target),
			Fix:    "link to it with `links:` instead, or ask its owner for the right to write (chmod)"}
	}
	return nil
}

// stored describes the entry at path; ok is false where the store has none.
func (e *Entries) stored(ctx context.Context, path string) (info room.Info, ok bool, err error) {
	p, err := placeOf(path)
	if err != nil || !p.isEntry() {
		return room.Info{}, false, nil
	}
	m, err := e.store.Stat(ctx, p.key())
	if errors.Is(err, backing.ErrNotFound) {
		return room.Info{}, false, nil
	}
	if err != nil {
		return room.Info{}, false, fmt.Errorf("look for %s: %w", path, err)
	}
	info, ok = p.info(m)
	return info, ok && info.Kind == room.Object, nil
}

func supersedesRefusal(p place, reason string) error {
	return &codec.Refusal{Errno: syscall.EINVAL, Path: p.path, Field: "supersedes", Reason: reason,
		Fix: "name an existing entry by its path from the top of the mount, <agent>/<timestamp>-<slug>.md"}
}

func (e *Entries) marksOf(s save, targets []string, at time.Time) []mark {
	var marks []mark
	for _, target := range targets {
		marks = append(marks, mark{New: s.p.path, Old: target, Agent: s.by.Agent, Time: at})
	}
	return marks
}

// finishMarks writes the lines that a commit has promised. The commit itself
// is done: a line that cannot be written now is written by the next start.
func (e *Entries) finishMarks(ctx context.Context, marks []mark) {
	if len(marks) == 0 {
		return
	}
	for i, m := range marks {
		if err := e.writeMark(ctx, m); err != nil {
			e.o.Log.Error("an entry is not marked as superseded yet; the next start will do it", "path", m.Old, "by", m.New, "err", err)
			marks = append(marks[:i:i], marks[i+1:]...)
		}
	}
	if err := e.intents.remove(ctx, e.store, marks); err != nil {
		e.o.Log.Error("finished marks stay in the list of those to do", "err", err)
	}
}

// writeMark appends the line of m to the old entry, once.
func (e *Entries) writeMark(ctx context.Context, m mark) error {
	p, err := placeOf(m.Old)
	if err != nil {
		return err
	}
	defer e.changed(m.Old)
	defer e.paths.lock(m.Old)()
	for tries := range conflictTries {
		yield(tries)
		cur, err := e.current(ctx, p)
		if err != nil {
			return err
		}
		if !cur.exists || isMarked(cur.content, m) {
			return nil
		}
		content := codec.AppendLine(cur.content, codec.Author{Agent: m.Agent, Time: m.Time}, m.text())
		_, err = e.put(ctx, p.key(), content, backing.PutOptions{If: cur.meta.Revision, KeepVersion: true, Op: newOp()})
		if !errors.Is(err, backing.ErrConflict) {
			return err
		}
	}
	return backing.ErrConflict
}

func isMarked(content []byte, m mark) bool {
	for _, line := range codec.ChangelogLines(content) {
		if strings.HasSuffix(strings.TrimRight(line, " \t\r"), m.text()) {
			return true
		}
	}
	return false
}
