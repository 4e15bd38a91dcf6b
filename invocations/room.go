package invocations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// historyRoom is the history as a file. It implements [room.Room].
type historyRoom struct{ h *History }

var _ room.Room = (*historyRoom)(nil)

// Room returns the history as a room of the mount.
func (h *History) Room() room.Room { return &historyRoom{h} }

// keyOf is where a path lies; ErrNotFound for what this room never has.
func keyOf(path string) (backing.Key, error) {
	switch path {
	case "":
		return roomDir, nil
	case fileName:
		return fileKey, nil
	case rejName:
		return rejKey, nil
	}
	return "", backing.ErrNotFound
}

// Stat implements [room.Room].
func (m *historyRoom) Stat(ctx context.Context, path string) (room.Info, error) {
	key, err := keyOf(path)
	if err != nil {
		return room.Info{}, err
	}
	meta, err := m.h.store.Stat(ctx, key)
	if path == "" && errors.Is(err, backing.ErrNotFound) {
		return room.Info{Kind: room.Dir, Mode: 0o755}, nil // a read-only store that never had one
	}
	if err != nil {
		return room.Info{}, err
	}
	return infoOf(path, meta)
}

// infoOf describes the directory, the history, and the refused lines, which
// are read like any stored content.
func infoOf(path string, m backing.Meta) (room.Info, error) {
	info := room.Info{Name: path, Kind: room.Object, Size: m.Size, ModTime: m.ModTime, Mode: m.Mode, UID: m.UID, GID: m.GID, Revision: m.Revision}
	switch {
	case m.Dir != (path == "") || m.Link || m.Special:
		return info, backing.ErrNotFound
	case path == "":
		info.Kind = room.Dir
	case path == fileName:
		info.Kind, info.Number, info.Lines = room.Plain, m.Number, true
	}
	return info, nil
}

// List implements [room.Room].
func (m *historyRoom) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	if dir != "" {
		return nil, backing.ErrNotDir
	}
	var infos []room.Info
	for _, name := range []string{fileName, rejName} {
		if name <= after || len(infos) >= limit {
			continue
		}
		info, err := m.Stat(ctx, name)
		if errors.Is(err, backing.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Read implements [room.Room].
func (m *historyRoom) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	key, err := keyOf(path)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, backing.ErrIsDir
	}
	return m.h.store.Open(ctx, key, rev)
}

// Write implements [room.Room]: the history is opened to be read as it grows,
// or appended to. Besides backing.File, what it opens has Append, for a
// caller that knows of O_APPEND at each write, and Flush, for one that knows
// of each close(2).
func (m *historyRoom) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	writing := o.Flags&syscall.O_ACCMODE != syscall.O_RDONLY || o.Flags&syscall.O_TRUNC != 0
	switch {
	case path == "":
		return nil, room.Info{}, backing.ErrIsDir
	case (writing || o.New) && m.h.store.ReadOnly():
		return nil, room.Info{}, backing.ErrReadOnly
	case path != fileName:
		return m.writeOther(ctx, c, path, o)
	case o.New && o.Exclusive:
		return nil, room.Info{}, backing.ErrExists
	case o.Flags&syscall.O_TRUNC != 0:
		return nil, room.Info{}, m.deny(c, denied("the history is never emptied", "append: echo '{...}' >> "+file))
	}
	files, ok := m.h.store.(backing.Files)
	if !ok {
		return nil, room.Info{}, syscall.ENOTSUP
	}
	f, err := m.openFile(ctx, files, o.New)
	if err != nil {
		return nil, room.Info{}, err
	}
	meta, err := f.Stat()
	var info room.Info
	if err == nil {
		info, err = infoOf(fileName, meta)
	}
	if err != nil {
		return nil, room.Info{}, errors.Join(err, f.Close())
	}
	return &handle{File: f, h: m.h, by: c, writing: writing, appending: o.Flags&syscall.O_APPEND != 0, next: -1, end: -1}, info, nil
}

// openFile opens the history for reading, and makes it where another program
// has removed it.
func (m *historyRoom) openFile(ctx context.Context, files backing.Files, create bool) (backing.File, error) {
	f, err := files.OpenFile(ctx, fileKey, syscall.O_RDONLY, 0)
	if !create || !errors.Is(err, backing.ErrNotFound) {
		return f, err
	}
	if err := m.h.add(ctx, nil); err != nil {
		return nil, fmt.Errorf("make %s: %w", file, err)
	}
	return files.OpenFile(ctx, fileKey, syscall.O_RDONLY, 0)
}

// writeOther opens what is not the history.
func (m *historyRoom) writeOther(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	if _, err := m.Stat(ctx, path); err != nil && !o.New {
		return nil, room.Info{}, err
	}
	return nil, room.Info{}, m.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: roomDir + "/" + path,
		Reason: "this directory has no other file to write than " + fileName, Fix: "append to " + file + ", or write elsewhere"})
}

// Remove implements [room.Room]: only what was refused can be removed.
func (m *historyRoom) Remove(ctx context.Context, c room.Caller, path string) error {
	if _, err := m.Stat(ctx, path); err != nil {
		return err
	}
	switch path {
	case rejName:
		m.h.rej.Lock()
		defer m.h.rej.Unlock()
		return m.h.store.Remove(ctx, rejKey, "")
	case fileName:
		return m.deny(c, denied("the history is never removed", "leave it, or end the mount and remove it from the store"))
	}
	return backing.ErrIsDir
}

// Rename implements [room.Room]: nothing here has another name.
func (m *historyRoom) Rename(ctx context.Context, c room.Caller, from, to string, flags uint) error {
	if _, err := m.Stat(ctx, from); err != nil {
		return err
	}
	return m.deny(c, denied("the history is not renamed and not replaced", "append to it, or copy it (cp)"))
}

// SetAttr implements [room.Room].
func (m *historyRoom) SetAttr(ctx context.Context, c room.Caller, path string, a backing.AttrChange) (room.Info, error) {
	key, err := keyOf(path)
	if err != nil {
		return room.Info{}, err
	}
	meta, err := m.h.store.SetAttr(ctx, key, a)
	if err != nil {
		return room.Info{}, err
	}
	return infoOf(path, meta)
}

// MakeDir implements [room.Room].
func (m *historyRoom) MakeDir(ctx context.Context, c room.Caller, path string, mode fs.FileMode) (room.Info, error) {
	_, _, err := m.writeOther(ctx, c, path, room.Create{New: true})
	return room.Info{}, err
}

// RemoveDir implements [room.Room].
func (m *historyRoom) RemoveDir(ctx context.Context, c room.Caller, path string) error {
	if _, err := m.Stat(ctx, path); err != nil {
		return err
	}
	if path == "" {
		return syscall.EBUSY
	}
	return backing.ErrNotDir
}

// Symlink implements [room.Room].
func (m *historyRoom) Symlink(ctx context.Context, c room.Caller, target, path string) (room.Info, error) {
	_, _, err := m.writeOther(ctx, c, path, room.Create{New: true})
	return room.Info{}, err
}

// Readlink implements [room.Room].
func (m *historyRoom) Readlink(ctx context.Context, path string) (string, error) {
	if _, err := m.Stat(ctx, path); err != nil {
		return "", err
	}
	return "", syscall.EINVAL
}

// Watch implements [room.Room]. The store also reports what this process
// appends.
func (m *historyRoom) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	events, err := m.h.store.Watch(ctx, "")
	if err != nil {
		return fmt.Errorf("watch the store: %w", err)
	}
	// The store watches what was listed.
	if _, err := m.h.store.List(ctx, roomDir, "", 1); err != nil && !errors.Is(err, backing.ErrNotFound) {
		return fmt.Errorf("watch %s: %w", roomDir, err)
	}
	for e := range events {
		switch {
		case e.Kind == backing.Resync:
			changed("", true)
		case e.Key == fileKey || e.Key == rejKey:
			changed(e.Key.Name(), false)
		}
	}
	return nil
}

// deny notes a refusal and returns it.
func (m *historyRoom) deny(c room.Caller, err error) error {
	var r *codec.Refusal
	if errors.As(err, &r) {
		m.h.journal(*r, c)
	}
	return err
}
