package torture

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"ctxfs/archive"
	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/housekeeping"
)

// keeps is how long gc keeps files: the entries here are older than that.
const keeps = codec.Retention(time.Hour)

func (w *world) keeper() *housekeeping.Keeper {
	return &housekeeping.Keeper{Store: w.store, Entries: w.entries, Now: func() time.Time { return clock }}
}

// cleans is `ctxfs gc`.
func cleans(w *world) error {
	return w.keeper().Do(ctx, housekeeping.Request{Keep: codec.Retentions{Default: keeps}},
		func(housekeeping.Event) error { return nil }, nil)
}

// ages lets files be old.
func ages(paths ...string) func(*world) error {
	return func(w *world) error {
		then := clock.AddDate(0, 0, -60)
		for _, path := range paths {
			if _, err := w.entries.SetAttr(ctx, alice, path, backing.AttrChange{ModTime: &then}); err != nil {
				return err
			}
		}
		return nil
	}
}

// aging makes what gc archives, an entry with versions, a file, an entry of a
// session, and what it does not.
var aging = each(saves("gone", "Old", "1", ""), saves("gone", "Old", "2\n\n2", ""), saves("gone", "Old", "3", ""),
	saves("linked", "Old", "Text.", ""), saves("young", "Young", "Text.", "links: ["+path("linked")+"]\n"),
	step(func(w *world) error { return w.plain("alice/notes.txt", "notes") }),
	step(func(w *world) error { return w.mkdir("alice/s7") }),
	step(func(w *world) error { return w.save("alice/s7/20260221T143022-x.md", entry("Old", "Text.", "")) }),
	ages(path("gone"), path("linked"), "alice/notes.txt", "alice/s7/20260221T143022-x.md"))

// addArchives adds what is in archives, each file once.
func (w *world) addArchives(s snapshot) error {
	all, err := archive.List(ctx, w.store)
	if err != nil {
		return err
	}
	for _, a := range all {
		err := archive.Read(ctx, w.store, a.Name, func(m archive.Member, content io.Reader) error {
			text, err := io.ReadAll(content)
			if !m.Dir {
				s["archived "+m.Path] = string(text)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lost are the files of old that are neither in the store nor in an archive.
func (s snapshot) lost(old snapshot) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, there := s[name]; there || strings.HasSuffix(name, "/") {
			continue
		}
		text := old[name]
		if strings.HasPrefix(name, "entry ") {
			_, text, _ = strings.Cut(text, " ") // behind the mode
		}
		if s[archivedAs(name)] != text {
			errs = append(errs, fmt.Errorf("%s is neither in the store nor in an archive", name))
		}
	}
	return errors.Join(errs...)
}

// archivedAs is how an archive names what has a name in a snapshot.
func archivedAs(name string) string {
	what, path, _ := strings.Cut(name, " ")
	if what == "version" {
		path = ".ctxfs/versions/" + strings.Replace(path, " ", "/", 1)
	}
	return "archived " + path
}

// going is what of old is archived in new, and so may be gone from the store.
func (old snapshot) going(new snapshot) snapshot {
	goes := maps.Clone(old)
	maps.DeleteFunc(goes, func(name, _ string) bool { _, archived := new[archivedAs(name)]; return !archived })
	return goes
}
