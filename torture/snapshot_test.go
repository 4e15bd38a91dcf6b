package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ctxfs/access"
	"ctxfs/archive"
	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
	"ctxfs/variables"
)

// snapshot is what users see of a store: contents by what they belong to.
type snapshot map[string]string

func (w *world) snapshot() (snapshot, error) {
	s := snapshot{}
	for _, add := range []func(snapshot) error{
		func(s snapshot) error { return w.addTree(s, "entry", w.entries, "") },
		func(s snapshot) error { return w.addTree(s, "memory", w.mems, "") },
		w.addVariables, w.addHistory, w.addResults, w.addOutbox, w.addArchives,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("look at the store: %w", err)
		}
	}
	return s, nil
}

// addTree adds what the room r shows below dir, and the kept versions of it.
func (w *world) addTree(s snapshot, what string, r room.Room, dir string) error {
	infos, err := r.List(ctx, dir, "", 10000)
	if err != nil {
		return err
	}
	for _, info := range infos {
		path := string(backing.Key(dir).Join(info.Name))
		if info.Kind == room.Dir {
			s[what+" "+path+"/"] = info.Mode.String()
			if err := w.addTree(s, what, r, path); err != nil {
				return err
			}
			continue
		}
		c, err := r.Read(ctx, path, info.Revision)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		text, err := content(c)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		s[what+" "+path] = info.Mode.String() + " " + text
		if what == "entry" {
			if err := w.addVersions(s, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func content(c backing.Content) (string, error) {
	p := make([]byte, c.Size())
	_, err := io.ReadFull(io.NewSectionReader(c, 0, c.Size()), p)
	return string(p), errors.Join(err, c.Close())
}

func (w *world) addVersions(s snapshot, path string) error {
	versions, err := w.store.Versions(ctx, backing.Key(path))
	if err != nil {
		return err
	}
	for _, v := range versions {
		c, err := w.store.OpenVersion(ctx, backing.Key(path), v.N)
		if err != nil {
			return err
		}
		text, err := content(c)
		if err != nil {
			return fmt.Errorf("read version %d of %s: %w", v.N, path, err)
		}
		s[fmt.Sprintf("version %s %d", path, v.N)] = text
	}
	return nil
}

func (w *world) addVariables(s snapshot) error {
	all, err := w.vars.List(ctx, variables.Filter{})
	if err != nil {
		return err
	}
	for _, m := range all {
		text, err := w.vars.Get(ctx, m.Scope, m.Key)
		if err != nil {
			return err
		}
		s[fmt.Sprintf("variable %s/%s", m.Scope, m.Key)] = string(m.Type) + " " + string(text)
	}
	return nil
}

func (w *world) addHistory(s snapshot) error {
	all, err := w.history.Read(ctx, 10000)
	if err != nil {
		return err
	}
	for i, e := range all { // the oldest one keeps its number
		s[fmt.Sprintf("invocation %d", i+1)] = string(e.Line)
	}
	return nil
}

func (w *world) addResults(s snapshot) error {
	return w.addTree(s, "result", w.results.Room(), "")
}

// addOutbox adds the lines that wait for the backend, each with its number in
// the outbox of its memory: none may be there twice.
func (w *world) addOutbox(s snapshot) error {
	return room.Each(ctx, w.store, outboxDir, func(d backing.Meta) error {
		n := 0
		return room.Each(ctx, w.store, d.Key, func(f backing.Meta) error {
			return room.Examine(ctx, w.store, f.Key, string(f.Key), func(room.Problem) {}, func(r *io.SectionReader) error {
				text, err := io.ReadAll(r)
				for line := range strings.Lines(string(text)) {
					n++
					s[fmt.Sprintf("outbox %s %d", d.Key.Name(), n)] = line
				}
				return err
			})
		})
	})
}

// outboxDir is where memories keep what is to be delivered.
const outboxDir = backing.Key(".ctxfs/log/outbox")

// mixes says what in s is neither as in old nor as in new.
func (s snapshot) mixes(old, new snapshot) error {
	var errs []error
	names := maps.Clone(s)
	maps.Copy(names, old)
	maps.Copy(names, new)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		got, ok := s[name]
		before, was := old[name]
		after, is := new[name]
		if (ok != was || got != before) && (ok != is || got != after) {
			errs = append(errs, fmt.Errorf("%s is %s; it was %s and should be %s", name, shown(got, ok), shown(before, was), shown(after, is)))
		}
	}
	return errors.Join(errs...)
}

func shown(text string, there bool) string {
	if !there {
		return "not there"
	}
	if len(text) > 600 {
		return fmt.Sprintf("%q... (%d bytes)", text[:600], len(text))
	}
	return fmt.Sprintf("%q", text)
}

// leftovers returns what `ctxfs check` finds in the closed store in dir that a
// start should have cleared away.
func leftovers(dir string) error {
	var errs []error
	err := access.Check(ctx, access.Directory(dir), access.CheckOptions{}, func(p room.Problem) {
		if p.Leftover {
			errs = append(errs, fmt.Errorf("check: %s is left: %s", p.Path, p.Reason))
		}
	})
	return errors.Join(append(errs, err)...)
}

// wrong returns what may not be in any store, whatever happened to it.
func (w *world) wrong(dir string) error {
	var errs []error
	err := access.Check(ctx, access.Directory(dir), access.CheckOptions{}, func(p room.Problem) {
		if !p.Warning {
			errs = append(errs, fmt.Errorf("check: %s:%d: %s: %s", p.Path, p.Line, p.Field, p.Reason))
		}
	})
	staged, serr := os.ReadDir(filepath.Join(dir, ".ctxfs", "staging"))
	for _, f := range staged {
		errs = append(errs, fmt.Errorf("%s is left in staging", f.Name()))
	}
	all, lerr := w.snapshot()
	for name, text := range all {
		if strings.HasPrefix(name, "entry ") && strings.HasSuffix(name, ".md") {
			errs = append(errs, doubled(name, text), marked(all, text))
		}
		if m, ok := strings.CutSuffix(name, "/context.md"); ok {
			errs = append(errs, agrees(m, text, all[m+"/context.json"]))
		}
	}
	return errors.Join(append(errs, err, serr, lerr)...)
}

func doubled(name, text string) error {
	seen := map[string]bool{}
	for _, line := range codec.ChangelogLines([]byte(text)) {
		if seen[line] {
			return fmt.Errorf("%s has the line %q twice", name, line)
		}
		seen[line] = true
	}
	return nil
}

// agrees reports a memory whose snapshot is not that of its document.
func agrees(memory, document, shot string) error {
	_, document, _ = strings.Cut(document, " ") // behind the mode
	_, shot, _ = strings.Cut(shot, " ")
	var s struct{ ActiveContext string }
	if err := json.Unmarshal([]byte(shot), &s); err != nil || s.ActiveContext != document {
		return fmt.Errorf("%s has the document %s, and the snapshot %s (%w)", memory, shown(document, true), shown(shot, true), err)
	}
	return nil
}

// marked reports an entry that another one supersedes and that does not say so.
func marked(all snapshot, text string) error {
	_, text, _ = strings.Cut(text, " ") // behind the mode
	e, err := codec.Parse([]byte(text))
	if err != nil {
		return err
	}
	for _, old := range e.Supersedes {
		if !strings.Contains(all["entry "+old], "Marked as superseded, see ") {
			return fmt.Errorf("%s is superseded and does not say so: %s", old, all["entry "+old])
		}
	}
	return nil
}

// files are the names of everything in the closed store in dir, but for
// versions that are links to what is current.
func files(dir string) (map[string]bool, error) {
	names := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if strings.HasPrefix(rel, string(archive.Dir)+"/") { // a second try makes a second one
			rel = string(archive.Dir) + "/*"
		}
		if err == nil && !pendingVersion(dir, rel) {
			names[rel] = true
		}
		return err
	})
	return names, err
}

// pendingVersion reports whether the file is the link of a version whose put
// did not come to its rename: the next put uses it.
func pendingVersion(dir, rel string) bool {
	key, ok := strings.CutPrefix(rel, ".ctxfs/versions/")
	if !ok {
		return false
	}
	kept, err := os.Stat(filepath.Join(dir, rel))
	if err != nil || kept.IsDir() {
		return false
	}
	current, err := os.Stat(filepath.Join(dir, filepath.Dir(key)))
	return err == nil && os.SameFile(kept, current)
}

// strays are the files that neither old nor new has.
func strays(dir string, old, new map[string]bool) error {
	got, err := files(dir)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !old[name] && !new[name] {
			err = errors.Join(err, fmt.Errorf("%s is left behind", name))
		}
	}
	return err
}
