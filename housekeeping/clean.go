package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"ctxfs/archive"
	"ctxfs/backing"
	"ctxfs/entries"
)

// batch is how many files are removed between two syncs of their directories.
const batch = 512

// clean archives and removes what is old.
func (w *work) clean(ctx context.Context) error {
	var told error
	aged, err := w.Entries.Aged(ctx, entries.AgedOptions{Keep: w.request.Keep, Agent: w.request.Agent,
		Progress: func(done, of int) { told = errors.Join(told, w.progress("looking", done, of)) }})
	if err = errors.Join(err, told); err != nil {
		return err
	}
	done := Done{DryRun: w.request.DryRun}
	var goes []entries.Aged
	for _, a := range aged {
		if !a.Keep {
			goes = append(goes, a)
			continue
		}
		done.Kept++
		if err := w.emit(Event{Item: itemOf(ActionKeep, a)}); err != nil {
			return err
		}
	}
	if !w.request.DryRun && len(goes) > 0 {
		if goes, err = w.archive(ctx, goes, &done); err != nil {
			return err
		}
	}
	if err := w.removed(ctx, goes, &done); err != nil {
		return err
	}
	if w.request.Agent == "" {
		if err := w.clearResults(ctx, &done); err != nil {
			return err
		}
	}
	return w.emit(Event{Done: &done})
}

// archive archives goes, and returns what of it could be read: what is gone
// by now, perhaps because another host does the same, needs nothing.
func (w *work) archive(ctx context.Context, goes []entries.Aged, done *Done) (archived []entries.Aged, err error) {
	now := w.Now
	if now == nil {
		now = time.Now
	}
	info, err := archive.Create(ctx, w.Store, now(), func(to *archive.Writer) error {
		archived = nil
		dirs := map[backing.Key]bool{}
		for i, a := range goes {
			ok, err := w.add(ctx, to, a, dirs)
			if err == nil {
				err = w.progress("archiving", i+1, len(goes))
			}
			if err != nil {
				return err
			}
			if ok {
				archived = append(archived, a)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(archived) == 0 { // and the archive is of nothing
		return nil, w.Store.Remove(ctx, archive.Dir.Join(info.Name), "")
	}
	done.Archive = &Archive{info.Name, info.Bytes, info.Created}
	return archived, nil
}

// add archives the versions of a, and then itself, as they are put back. ok is
// false where a, or one of its versions, is not any more what it was; what of
// it is in the archive then is of no use, and does no harm.
func (w *work) add(ctx context.Context, to *archive.Writer, a entries.Aged, dirs map[backing.Key]bool) (ok bool, err error) {
	err = w.addAll(ctx, to, a, dirs)
	if errors.Is(err, backing.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (w *work) addAll(ctx context.Context, to *archive.Writer, a entries.Aged, dirs map[backing.Key]bool) error {
	m := archive.Member{Path: a.Path(), Size: a.Meta.Size, ModTime: a.Meta.ModTime, Mode: a.Meta.Mode, UID: a.Meta.UID, GID: a.Meta.GID}
	var content backing.Content
	if a.Kind != entries.AgedVersions {
		var err error
		if content, err = w.Store.Open(ctx, a.Meta.Key, a.Meta.Revision); err != nil {
			return err
		}
		defer content.Close()
		if err := w.addDir(ctx, to, a.Meta.Key.Dir(), dirs); err != nil {
			return err
		}
	}
	for _, v := range a.Versions {
		if err := w.addVersion(ctx, to, m, v); err != nil {
			return err
		}
	}
	if content == nil {
		return nil
	}
	return to.Add(m, all(content))
}

// addVersion archives a version of the entry that m is.
func (w *work) addVersion(ctx context.Context, to *archive.Writer, m archive.Member, v backing.Version) error {
	c, err := w.Store.OpenVersion(ctx, backing.Key(m.Path), v.N)
	if err != nil {
		return err
	}
	defer c.Close()
	m.Path, m.Size, m.ModTime = string(versionsOf.Join(m.Path).Join(strconv.Itoa(v.N))), c.Size(), v.ModTime
	m.Mode, m.UID, m.GID = v.Mode, v.UID, v.GID
	return to.Add(m, all(c))
}

// versionsOf is where an archive has the versions, below it the entries' paths.
const versionsOf = backing.Own + backing.Key("/versions")

// addDir archives what a directory is, once.
func (w *work) addDir(ctx context.Context, to *archive.Writer, dir backing.Key, dirs map[backing.Key]bool) error {
	if dir == "" || dirs[dir] {
		return nil
	}
	dirs[dir] = true
	if err := w.addDir(ctx, to, dir.Dir(), dirs); err != nil {
		return err
	}
	m, err := w.Store.Stat(ctx, dir)
	if err != nil {
		return err
	}
	return to.Add(archive.Member{Path: string(dir), Dir: true, ModTime: m.ModTime, Mode: m.Mode, UID: m.UID, GID: m.GID}, nil)
}

func all(c backing.Content) io.Reader { return io.NewSectionReader(c, 0, c.Size()) }

// removed removes what was archived, or in a dry run says what would be.
func (w *work) removed(ctx context.Context, goes []entries.Aged, done *Done) error {
	n := 0
	for list := range slices.Chunk(goes, batch) {
		errs := make([]error, len(list))
		if !w.request.DryRun {
			for _, a := range list {
				w.changing(a.Path())
			}
			errs = w.Entries.Discard(ctx, list)
		}
		for i, a := range list {
			if err := w.count(a, errs[i], done); err != nil {
				return err
			}
		}
		n += len(list)
		if w.request.DryRun {
			continue
		}
		if err := errors.Join(ctx.Err(), w.progress("removing", n, len(goes))); err != nil {
			return err
		}
	}
	return nil
}

// count tells what became of a.
func (w *work) count(a entries.Aged, err error, done *Done) error {
	item := itemOf(ActionArchive, a)
	switch {
	case errors.Is(err, backing.ErrConflict) || errors.Is(err, backing.ErrNotFound):
		item.Action, item.Why = ActionKeep, "it was changed meanwhile"
		done.Kept++
		return w.emit(Event{Item: item})
	case err != nil:
		return fmt.Errorf("remove what was archived: %w", err)
	case a.Kind == entries.AgedEntry:
		done.Entries++
	case a.Kind == entries.AgedVersions:
		done.Versions += len(a.Versions)
	default:
		done.Scratch++
	}
	done.Bytes += item.Bytes
	return w.emit(Event{Item: item})
}

func itemOf(action string, a entries.Aged) *Item {
	item := &Item{Action: action, What: string(a.Kind), Path: a.Path(), Bytes: a.Bytes(), Time: a.Meta.ModTime.UTC(), Why: a.Why}
	for _, v := range a.Versions {
		item.Versions = append(item.Versions, v.N)
	}
	return item
}
