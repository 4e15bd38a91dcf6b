package entries

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// Rename implements [room.Room]. A rename onto an entry's name is a save, one
// of an entry to another name beside it the begin of an editor's backup; an
// entry gets no other name and no other directory.
func (e *Entries) Rename(ctx context.Context, c room.Caller, from, to string, flags uint) error {
	src, err := placeOf(from)
	if err != nil {
		return err
	}
	dst, err := placeOf(to)
	if err != nil {
		return err
	}
	if src.depth == 0 || dst.depth == 0 {
		return syscall.EBUSY
	}
	info, err := e.Stat(ctx, from)
	if err != nil || from == to {
		return err
	}
	if info.Kind == room.Dir {
		return e.renameDir(ctx, c, src, dst, flags)
	}
	if err := dst.checkFile(); err != nil {
		return e.deny(c, err)
	}
	if flags&unix.RENAME_EXCHANGE != 0 && (info.Kind == room.Object || dst.isEntry()) {
		return e.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: from,
			Reason: "an entry cannot be exchanged with another file", Fix: "rename the new content onto the entry"})
	}
	switch info.Kind {
	case room.Object:
		return e.renameEntry(ctx, c, src, dst, info, flags)
	case room.Link:
		return e.renameLink(ctx, c, src, dst, flags)
	}
	if dst.isEntry() {
		return e.replaceByFile(ctx, c, src, dst, info, flags)
	}
	return e.renamePlain(ctx, src, dst, flags)
}

// renamePlain is the ordinary rename of an ordinary file or link.
func (e *Entries) renamePlain(ctx context.Context, src, dst place, flags uint) error {
	files, err := e.files()
	if err != nil {
		return err
	}
	return files.Rename(ctx, src.key(), dst.key(), flags)
}

func (e *Entries) renameLink(ctx context.Context, c room.Caller, src, dst place, flags uint) error {
	if !lockName(dst.name) {
		return e.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: dst.path,
			Reason: "symbolic links are not kept here, but for an editor's lock", Fix: "copy the file"})
	}
	return e.renamePlain(ctx, src, dst, flags)
}

// renameEntry moves an entry, stored or pending, away from its name.
func (e *Entries) renameEntry(ctx context.Context, c room.Caller, src, dst place, info room.Info, flags uint) error {
	if dst.isEntry() {
		return e.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: src.path,
			Reason: "an entry keeps its name: links of other entries point to it",
			Fix:    "write a new entry with `supersedes: [" + src.path + "]`, or copy it (cp)"})
	}
	if there, err := e.Stat(ctx, dst.path); err == nil && there.Kind == room.Dir {
		return backing.ErrIsDir
	}
	if !isPendingRevision(info.Revision) {
		return e.beginDance(ctx, c, src, dst, flags)
	}
	o := backing.PutOptions{Mode: info.Mode}
	if flags&unix.RENAME_NOREPLACE != 0 {
		o.If = backing.Absent
	}
	m, err := e.put(ctx, dst.key(), nil, o)
	if err != nil {
		return err
	}
	e.own(ctx, c.Of(info), m)
	e.dropPending(src.path)
	return nil
}

// replaceByFile saves the ordinary file at src as the entry at dst, as
// sed -i, patch and most libraries do. The file goes when the entry is on
// disk, and stays when it is refused.
func (e *Entries) replaceByFile(ctx context.Context, c room.Caller, src, dst place, info room.Info, flags uint) error {
	for range conflictTries {
		m, err := e.store.Stat(ctx, src.key())
		if err != nil {
			return err
		}
		if err := e.saveFile(ctx, c, m, dst, info, flags); err != nil {
			return err
		}
		err = e.store.Remove(context.WithoutCancel(ctx), src.key(), m.Revision)
		if errors.Is(err, backing.ErrConflict) {
			flags &^= unix.RENAME_NOREPLACE // the name is taken by us now
			continue                        // written to meanwhile: that belongs to the entry too
		}
		if err != nil && !errors.Is(err, backing.ErrNotFound) {
			e.o.Log.Warn("a file stays after it was saved as an entry", "path", src.path, "entry", dst.path, "err", err)
		}
		e.changed(src.path)
		return nil
	}
	return fmt.Errorf("rename %s: %w", src.path, backing.ErrConflict)
}

// saveFile makes the content of the file m the next version of the entry at
// dst.
func (e *Entries) saveFile(ctx context.Context, c room.Caller, m backing.Meta, dst place, info room.Info, flags uint) error {
	if m.Size > MaxSize {
		return e.deny(c, &codec.Refusal{Errno: syscall.EFBIG, Path: dst.path,
			Reason: fmt.Sprintf("an entry has at most %d MiB", MaxSize>>20), Fix: "keep the data in a file without .md beside it"})
	}
	content, err := e.readAll(ctx, m.Key, "")
	if err != nil {
		return err
	}
	if draft, ok := codec.RejDraft(content); ok {
		content = draft // a mended .rej comes back as what it was refused as
	}
	free := flags&unix.RENAME_NOREPLACE != 0
	if len(content) == 0 {
		done, err := e.saveEmpty(ctx, c, dst, info, free)
		if done || err != nil {
			return err
		}
	}
	err = e.publish(ctx, save{p: dst, by: c, content: content, mode: info.Mode, file: &info, free: free})
	if errors.Is(err, backing.ErrExists) || errors.Is(err, backing.ErrNotRegular) {
		return err
	}
	if err != nil {
		r := refusalOf(err, dst.path)
		e.journal(r, c)
		e.keepReject(ctx, dst, &r, content, c.Of(info), info.Mode)
	}
	return err
}

// saveEmpty makes an empty file renamed onto a new name a pending entry; done
// is false where there is an entry, which publish protects.
func (e *Entries) saveEmpty(ctx context.Context, c room.Caller, dst place, info room.Info, free bool) (done bool, err error) {
	_, _, err = e.addPending(ctx, c.Of(info), dst, info.Mode, free)
	if errors.Is(err, backing.ErrExists) && !free {
		return false, nil
	}
	return true, err
}

// renameDir gives an empty directory another name. One with something in it
// keeps its name, which is part of its entries' paths.
func (e *Entries) renameDir(ctx context.Context, c room.Caller, src, dst place, flags uint) error {
	if err := dst.checkDir(); err != nil {
		return e.deny(c, err)
	}
	there, err := e.Stat(ctx, dst.path)
	switch {
	case err == nil && flags&unix.RENAME_NOREPLACE != 0:
		return backing.ErrExists
	case err == nil && there.Kind != room.Dir:
		return backing.ErrNotDir
	case err != nil && !errors.Is(err, backing.ErrNotFound):
		return err
	}
	members, listErr := e.store.List(ctx, src.key(), "", 1)
	if listErr != nil {
		return listErr
	}
	if len(members) > 0 || len(e.pendingIn(src.path, "")) > 0 || flags&unix.RENAME_EXCHANGE != 0 ||
		backing.Key(dst.path).Under(src.key()) {
		return e.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: src.path,
			Reason: "a directory with entries keeps its name: links point to them by it",
			Fix:    "make the other directory and write there from now on"})
	}
	if err == nil {
		if err := e.RemoveDir(ctx, c, dst.path); err != nil {
			return err
		}
	}
	m, err := e.store.Stat(ctx, src.key())
	if err != nil {
		return err
	}
	if _, err := e.MakeDir(ctx, c.Of(room.Info{UID: m.UID, GID: m.GID}), dst.path, m.Mode); err != nil {
		return err
	}
	return e.RemoveDir(ctx, c, src.path)
}
