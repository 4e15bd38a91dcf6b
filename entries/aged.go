package entries

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// AgedKind is what an [Aged] is.
type AgedKind string

const (
	AgedEntry    AgedKind = "entry"    // with all of its versions
	AgedVersions AgedKind = "versions" // old versions of an entry that stays
	AgedScratch  AgedKind = "scratch"  // a file that is no entry
)

// Aged is something of this room that is older than it has to be kept.
type Aged struct {
	Kind     AgedKind
	Meta     backing.Meta // of the entry or file
	Versions []backing.Version
	Keep     bool   // old, but to be kept
	Why      string // it goes, or is kept: a phrase
}

// Path is that of the entry or file, from the top of the store.
func (a Aged) Path() string { return string(a.Meta.Key) }

// Bytes is what goes with a.
func (a Aged) Bytes() int64 {
	n := a.Meta.Size
	if a.Kind == AgedVersions {
		n = 0
	}
	for _, v := range a.Versions {
		n += v.Size
	}
	return n
}

// AgedOptions say what is old.
type AgedOptions struct {
	Keep  codec.Retentions
	Agent string // whose files are looked at; "" is everybody's
	// Progress is told how many of how many files have been looked at; may
	// be nil.
	Progress func(done, of int)
}

// Aged looks for what is older than its agent's retention, ordered by path.
// An entry is as old as its last change: the later of its timestamp and its
// file's time. A version is as old as what replaced it, and the newest stays,
// because the numbers of the next ones follow from it. Any other file is as
// old as its time.
//
// What an entry that stays links to, or supersedes, stays too, and so on from
// there; so does a file that it names, and an entry that is being written or
// whose frontmatter cannot be read.
func (e *Entries) Aged(ctx context.Context, o AgedOptions) ([]Aged, error) {
	s := &aging{e: e, o: o, now: e.now(), at: map[string]*agedFile{}, named: map[string][]*agedFile{}}
	if err := s.list(ctx, ""); err != nil {
		return nil, fmt.Errorf("look for what is old: %w", err)
	}
	for i, f := range s.files {
		if err := s.judge(ctx, f); err != nil {
			return nil, fmt.Errorf("look for what is old: %w", err)
		}
		if o.Progress != nil {
			o.Progress(i+1, len(s.files))
		}
	}
	s.follow()
	var all []Aged
	for _, f := range s.files {
		found, err := s.result(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("look for what is old: %w", err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// aging is one look at all files.
type aging struct {
	e     *Entries
	o     AgedOptions
	now   time.Time
	files []*agedFile            // ordered by path
	at    map[string]*agedFile   // the same by path
	named map[string][]*agedFile // those that entries may name, by agent
}

// agedFile is an entry or ordinary file in one look.
type agedFile struct {
	place
	meta       backing.Meta
	entry      bool
	old        bool
	changed    time.Time
	links      []string // what it leads to, from the top of the store
	supersedes map[string]bool
	names      []*agedFile // ordinary files of the agent that its text names
	kept       string      // why it is kept although it is old
}

// list finds the files below dir.
func (s *aging) list(ctx context.Context, dir backing.Key) error {
	return s.e.eachIn(ctx, dir, func(p place, m backing.Meta) error {
		kind, shown := p.kindOf(m)
		switch {
		case !shown || kind == room.Link:
			return nil
		case kind == room.Dir:
			return s.list(ctx, p.key())
		}
		f := &agedFile{place: p, meta: m, entry: kind == room.Object, changed: m.ModTime}
		s.files, s.at[p.path] = append(s.files, f), f
		if !f.entry && nameable(p.name) {
			s.named[p.agent] = append(s.named[p.agent], f)
		}
		return nil
	})
}

// nameable reports whether an entry may mean a file by its name, which is none
// that programs make for themselves.
func nameable(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "#") && !strings.HasSuffix(name, "~") && !strings.HasSuffix(name, rejEnd)
}

// judge says how old f is, and reads what it leads to.
func (s *aging) judge(ctx context.Context, f *agedFile) error {
	keep := s.o.Keep.Of(f.agent)
	if !f.entry {
		f.old = s.asked(f) && keep.Over(f.changed, s.now)
		return nil
	}
	content, err := s.e.readAll(ctx, f.key(), f.meta.Revision)
	changing := errors.Is(err, backing.ErrNotFound)
	if changing {
		content, err = s.e.readAll(ctx, f.key(), "") // what it leads to now
	}
	if errors.Is(err, backing.ErrNotFound) {
		return nil // gone
	}
	if err != nil {
		return err
	}
	entry, err := codec.Parse(content)
	if entry.Time.After(f.changed) {
		f.changed = entry.Time
	}
	f.old = s.asked(f) && keep.Over(f.changed, s.now)
	switch {
	case err != nil:
		f.kept = "its frontmatter cannot be read, `ctxfs check` says why"
	case changing || s.e.busy(f.path):
		f.kept = "it is being written"
	}
	f.read(entry, content, s.named[f.agent])
	return nil
}

func (s *aging) asked(f *agedFile) bool { return s.o.Agent == "" || s.o.Agent == f.agent }

// busy reports whether somebody writes the entry at path.
func (e *Entries) busy(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, dancing := e.dances[path]
	return dancing || len(e.drafts[path]) > 0
}

// result is what there is to say of f.
func (s *aging) result(ctx context.Context, f *agedFile) ([]Aged, error) {
	keep := s.o.Keep.Of(f.agent)
	a := Aged{Kind: AgedScratch, Meta: f.meta, Keep: f.kept != "", Why: f.kept}
	switch {
	case !s.asked(f) || !f.entry && !f.old:
		return nil, nil
	case !f.entry && a.Keep:
		return []Aged{a}, nil
	case !f.entry:
		a.Why = "not touched since " + day(f.changed) + ", " + keptFor(keep)
		return []Aged{a}, nil
	}
	a.Kind = AgedEntry
	versions, err := s.e.store.Versions(ctx, f.key())
	if err != nil {
		return nil, err
	}
	if f.old && !a.Keep {
		a.Versions, a.Why = versions, "last changed "+day(f.changed)+", "+keptFor(keep)
		return []Aged{a}, nil
	}
	var found []Aged
	if f.old {
		found = append(found, a)
	}
	if old := s.oldVersions(versions, keep); len(old) > 0 {
		replaced := versions[len(old)].ModTime
		found = append(found, Aged{Kind: AgedVersions, Meta: f.meta, Versions: old,
			Why: "replaced " + day(replaced) + " or before, " + keptFor(keep)})
	}
	return found, nil
}

// oldVersions are those that were replaced long ago, but for the newest.
func (s *aging) oldVersions(all []backing.Version, keep codec.Retention) []backing.Version {
	n := 0
	for n < len(all)-1 && keep.Over(all[n+1].ModTime, s.now) {
		n++
	}
	return all[:n]
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func keptFor(keep codec.Retention) string { return "kept for " + keep.String() }
