package results

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

// Rename implements [room.Room]. A rename onto a result's name is a save, as
// sed -i and most libraries do it; one of a result to another kind of name is
// an editor's backup.
func (m *resultsRoom) Rename(ctx context.Context, c room.Caller, from, to string, flags uint) error {
	if err := errors.Join(inRoom(from), inRoom(to)); err != nil {
		return err
	}
	if from == listFile || to == listFile || m.r.store.ReadOnly() {
		return backing.ErrReadOnly
	}
	info, err := m.Stat(ctx, from)
	if err != nil || from == to {
		return err
	}
	if flags&^unix.RENAME_NOREPLACE != 0 && (isResult(from) || isResult(to)) {
		return m.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: path(from), Reason: "a result cannot be exchanged with another file",
			Fix: "rename the new content onto the result"})
	}
	switch {
	case isResult(to):
		return m.saveFile(ctx, c, info, to, flags)
	case isResult(from):
		return m.moveAway(ctx, c, info, to, flags)
	}
	files, ok := m.r.store.(backing.Files)
	if !ok {
		return syscall.ENOTSUP
	}
	m.r.index.noteReject(from, false)
	m.r.index.noteReject(to, false)
	return files.Rename(ctx, key(from), key(to), flags)
}

// saveFile makes the content of a file, or of another result, that of the
// result to; the file goes when the result is there, and stays when it is
// refused.
func (m *resultsRoom) saveFile(ctx context.Context, c room.Caller, info room.Info, to string, flags uint) error {
	if err := checkName(to); err != nil {
		return m.deny(c, err)
	}
	content, err := m.Read(ctx, info.Name, "")
	if err != nil {
		return err
	}
	defer content.Close()
	if content.Size() > MaxSize {
		return m.deny(c, tooLong(to))
	}
	b, err := mended(content)
	if err != nil {
		return err
	}
	_, err = m.r.publish(ctx, save{name: to, body: b, by: c.Of(info), mode: info.Mode, modTime: info.ModTime, free: flags&unix.RENAME_NOREPLACE != 0})
	if errors.Is(err, backing.ErrExists) {
		return err
	}
	if err != nil {
		r := refusalOf(err, to)
		m.r.journal(r, c)
		m.r.keepReject(ctx, to, &r, b, c.Of(info), info.Mode)
		return err
	}
	if err := m.Remove(context.WithoutCancel(ctx), c, info.Name); err != nil && !errors.Is(err, backing.ErrNotFound) {
		m.r.o.Log.Warn("a file stays after it was saved as a result", "path", path(info.Name), "result", path(to), "err", err)
	}
	return nil
}

// moveAway makes an ordinary file of a result.
func (m *resultsRoom) moveAway(ctx context.Context, c room.Caller, info room.Info, to string, flags uint) error {
	content, err := m.r.open(ctx, info.Name, "")
	if err != nil {
		return err
	}
	defer content.Close()
	o := backing.PutOptions{Mode: info.Mode, ModTime: info.ModTime}
	if flags&unix.RENAME_NOREPLACE != 0 {
		o.If = backing.Absent
	}
	meta, err := m.r.store.Put(ctx, key(to), reader(content), o)
	if err != nil {
		return fmt.Errorf("rename %s: %w", path(info.Name), err)
	}
	if meta.UID != info.UID {
		if _, err := m.r.store.SetAttr(ctx, key(to), backing.AttrChange{UID: &info.UID, GID: &info.GID}); err != nil {
			m.r.o.Log.Warn("a renamed result gets another owner", "path", path(to), "err", err)
		}
	}
	m.r.index.noteReject(to, false)
	return m.r.remove(ctx, info.Name)
}
