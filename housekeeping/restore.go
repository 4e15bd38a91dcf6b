package housekeeping

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"

	"ctxfs/archive"
	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/entries"
	"ctxfs/room"
)

// archives lists the archives.
func (w *work) archives(ctx context.Context) error {
	all, err := archive.List(ctx, w.Store)
	if err != nil {
		return err
	}
	for _, a := range all {
		if err := w.emit(Event{Archive: &Archive{a.Name, a.Bytes, a.Created.UTC()}}); err != nil {
			return err
		}
	}
	return w.emit(Event{Done: &Done{}})
}

// members lists what is in an archive.
func (w *work) members(ctx context.Context) error {
	done := Done{}
	err := w.read(ctx, w.request.List.Archive, func(m archive.Member, _ io.Reader) error {
		item := &Item{What: string(entries.AgedScratch), Path: m.Path, Bytes: m.Size, Time: m.ModTime.UTC()}
		of, n, isVersion := versionOf(m)
		switch {
		case m.Dir:
			return nil
		case isVersion:
			item.What, item.Path, item.Versions = string(entries.AgedVersions), of, []int{n}
			done.Versions++
		case codec.IsEntry(path.Base(m.Path)):
			item.What = string(entries.AgedEntry)
			done.Entries++
		default:
			done.Scratch++
		}
		done.Bytes += m.Size
		return w.emit(Event{Item: item})
	})
	if err != nil {
		return err
	}
	return w.emit(Event{Done: &done})
}

// read is archive.Read that says what to do where there is none.
func (w *work) read(ctx context.Context, name string, each func(m archive.Member, content io.Reader) error) error {
	err := archive.Read(ctx, w.Store, name, each)
	if errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrBadKey) {
		return &codec.Refusal{Errno: syscall.ENOENT, Path: name, Reason: "there is no such archive", Fix: "`ctxfs gc --list` names them"}
	}
	return err
}

// versionOf is the entry and the number of the version that m is.
func versionOf(m archive.Member) (of string, n int, ok bool) {
	rest, ok := strings.CutPrefix(m.Path, string(versionsOf)+"/")
	if !ok || m.Dir {
		return "", 0, false
	}
	n, err := strconv.Atoi(path.Base(rest))
	return path.Dir(rest), n, err == nil
}

// found is what an archive has of the file to restore.
type found struct {
	file     bool
	versions int
	dirMode  fs.FileMode
}

// restore brings a file back, its versions first: an entry that is there has
// all of them.
func (w *work) restore(ctx context.Context) error {
	r := w.request.Restore
	var f found
	err := w.read(ctx, r.Archive, func(m archive.Member, _ io.Reader) error {
		of, _, isVersion := versionOf(m)
		switch {
		case isVersion && of == r.Path:
			f.versions++
		case m.Dir && m.Path == path.Dir(r.Path):
			f.dirMode = m.Mode
		case !m.Dir && m.Path == r.Path:
			f.file = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.mayRestore(ctx, f); err != nil {
		return err
	}
	item := &Item{Action: ActionRestore, What: string(entries.AgedVersions), Path: r.Path}
	err = w.read(ctx, r.Archive, func(m archive.Member, content io.Reader) error {
		return w.putBack(ctx, m, content, f, item)
	})
	if err == nil {
		err = w.emit(Event{Item: item})
	}
	if err != nil {
		return err
	}
	return w.emit(Event{Done: &Done{Bytes: item.Bytes}})
}

// mayRestore refuses what is not in the archive, and what is in the store.
func (w *work) mayRestore(ctx context.Context, f found) error {
	r := w.request.Restore
	if !f.file && f.versions == 0 {
		return &codec.Refusal{Errno: syscall.ENOENT, Path: r.Path, Reason: "it is not in the archive " + r.Archive,
			Fix: "`ctxfs gc --list " + r.Archive + "` says what is"}
	}
	if !f.file {
		return nil
	}
	_, err := w.Store.Stat(ctx, backing.Key(r.Path))
	if err == nil {
		return &codec.Refusal{Errno: syscall.EEXIST, Path: r.Path, Reason: "it is in the store, and nothing is replaced",
			Fix: "read the archived one with `tar --zstd -xOf`, or use `ctxfs restore` for its versions"}
	}
	if errors.Is(err, backing.ErrNotFound) {
		return nil
	}
	return err
}

// putBack puts a member back if it belongs to what is restored.
func (w *work) putBack(ctx context.Context, m archive.Member, content io.Reader, f found, item *Item) error {
	r := w.request.Restore
	of, n, isVersion := versionOf(m)
	switch {
	case isVersion && of == r.Path:
		if err := w.putBackVersion(ctx, of, backing.Version{N: n, ModTime: m.ModTime, Mode: m.Mode, UID: m.UID, GID: m.GID}, content); err != nil {
			return err
		}
		item.Versions = append(item.Versions, n)
	case !m.Dir && m.Path == r.Path:
		w.changing(r.Path)
		err := w.Entries.PutBack(ctx, entries.Putback{Path: r.Path, Mode: m.Mode, DirMode: f.dirMode,
			Owner: room.Caller{UID: m.UID, GID: m.GID}}, content)
		if err != nil {
			return err
		}
		item.What, item.Time = string(entries.AgedScratch), m.ModTime.UTC()
		if codec.IsEntry(path.Base(m.Path)) {
			item.What = string(entries.AgedEntry)
		}
	default:
		return nil
	}
	item.Bytes += m.Size
	return nil
}

// putBackVersion puts back a version, or finds that an earlier try has done so.
func (w *work) putBackVersion(ctx context.Context, of string, v backing.Version, content io.Reader) error {
	hash := sha256.New()
	err := w.Entries.PutBackVersion(ctx, of, v, io.TeeReader(content, hash))
	if !errors.Is(err, backing.ErrExists) {
		return err
	}
	there, err := w.Store.OpenVersion(ctx, backing.Key(of), v.N)
	if err != nil {
		return err
	}
	defer there.Close()
	same := sha256.New()
	if _, err := io.Copy(same, all(there)); err != nil {
		return fmt.Errorf("compare version %d of %s: %w", v.N, of, err)
	}
	if string(hash.Sum(nil)) != string(same.Sum(nil)) {
		return &codec.Refusal{Errno: syscall.EEXIST, Path: of, Reason: fmt.Sprintf("there is another version %d of it", v.N),
			Fix: "take the archived one out with `tar --zstd -xf`, in a directory of its own"}
	}
	return nil
}
