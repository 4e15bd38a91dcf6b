package results

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// listFile is the list of all results with their descriptions, as JSONL. It
// is never listed itself.
const listFile = ".list"

// resultsRoom is the results as files. It implements [room.Room].
type resultsRoom struct {
	r *Results
	c room.Caller // who reads listFile, see For
}

var (
	_ room.Room   = (*resultsRoom)(nil)
	_ room.Viewer = (*resultsRoom)(nil)
)

// Room returns the results as a room of the mount.
func (r *Results) Room() room.Room { return &resultsRoom{r: r} }

// PerCaller implements [room.Viewer].
func (m *resultsRoom) PerCaller(path string) bool { return path == listFile }

// For implements [room.Viewer]: the list is of the results that c may read.
func (m *resultsRoom) For(c room.Caller) room.Room { return &resultsRoom{m.r, c} }

// inRoom checks that a path is a name in the room; ErrNotDir for deeper ones.
func inRoom(path string) error {
	if path == "" {
		return backing.ErrIsDir
	}
	if strings.IndexByte(path, '/') >= 0 {
		return backing.ErrNotDir
	}
	return nil
}

// Stat implements [room.Room].
func (m *resultsRoom) Stat(ctx context.Context, path string) (room.Info, error) {
	if path == "" {
		return m.dir(), nil
	}
	if err := inRoom(path); err != nil {
		return room.Info{}, err
	}
	switch {
	case path == listFile:
		return room.Info{Name: listFile, Kind: room.Virtual, Mode: 0o444, ModTime: m.r.index.lastChange(), UID: m.r.own.UID, GID: m.r.own.GID}, nil
	case isResult(path):
		if info, ok := m.r.index.info(path); ok {
			return info, nil
		}
		return room.Info{}, backing.ErrNotFound
	}
	meta, err := m.r.store.Stat(ctx, key(path))
	if err != nil {
		return room.Info{}, err
	}
	info, ok := plainInfo(meta)
	if !ok {
		return room.Info{}, backing.ErrNotFound
	}
	return info, nil
}

func (m *resultsRoom) dir() room.Info {
	info := room.Info{Kind: room.Dir, Mode: 0o755, ModTime: m.r.index.lastChange(), UID: m.r.own.UID, GID: m.r.own.GID}
	if m.r.own.Mode != 0 {
		info.Mode = m.r.own.Mode
	}
	return info
}

// plainInfo describes an ordinary file, ok is false for what is none.
func plainInfo(m backing.Meta) (room.Info, bool) {
	return room.Info{Name: m.Key.Name(), Kind: room.Plain, Size: m.Size, ModTime: m.ModTime, Mode: m.Mode,
		UID: m.UID, GID: m.GID, Revision: m.Revision, Number: m.Number}, !m.Dir && !m.Link && !m.Special
}

// List implements [room.Room]. It reads no content.
func (m *resultsRoom) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	if dir != "" {
		return nil, backing.ErrNotDir
	}
	infos := m.r.index.list(after, limit)
	plain, err := m.plainFiles(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	infos = append(infos, plain...)
	slices.SortFunc(infos, func(a, b room.Info) int { return strings.Compare(a.Name, b.Name) })
	return infos[:min(len(infos), limit)], nil
}

// plainFiles are the first ordinary files after a name.
func (m *resultsRoom) plainFiles(ctx context.Context, after string, limit int) ([]room.Info, error) {
	var infos []room.Info
	for len(infos) < limit {
		page, err := m.r.store.List(ctx, roomDir, after, clearPage)
		if errors.Is(err, backing.ErrNotFound) {
			return nil, nil // a read-only store that never had one
		}
		if err != nil {
			return nil, err
		}
		for _, meta := range page {
			after = meta.Key.Name()
			if info, ok := plainInfo(meta); ok && !isResult(after) && after != listFile {
				infos = append(infos, info)
			}
		}
		if len(page) < clearPage {
			break
		}
	}
	return infos, nil
}

// Read implements [room.Room].
func (m *resultsRoom) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	if err := inRoom(path); err != nil {
		return nil, err
	}
	switch {
	case path == listFile:
		text, err := m.r.listing(m.c)
		return newMemoryContent(text), err
	case isResult(path):
		return m.r.open(ctx, path, rev)
	}
	return m.r.store.Open(ctx, key(path), rev)
}

// MakeDir implements [room.Room]: the results are one directory.
func (m *resultsRoom) MakeDir(ctx context.Context, c room.Caller, dir string, mode fs.FileMode) (room.Info, error) {
	return room.Info{}, m.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: path(dir), Reason: "the results have no directories below them",
		Fix: "write the result as results/<sessionId>-<tool>-<hash>.json"})
}

// RemoveDir implements [room.Room].
func (m *resultsRoom) RemoveDir(ctx context.Context, c room.Caller, path string) error {
	if _, err := m.Stat(ctx, path); err != nil {
		return err
	}
	if path == "" {
		return syscall.EBUSY
	}
	return backing.ErrNotDir
}

// Remove implements [room.Room]: `rm results/<session>-*` clears a session.
func (m *resultsRoom) Remove(ctx context.Context, c room.Caller, path string) error {
	if err := inRoom(path); err != nil {
		return err
	}
	switch {
	case path == listFile:
		return backing.ErrReadOnly
	case isResult(path):
		return m.r.remove(ctx, path)
	}
	m.r.index.noteReject(path, false)
	return m.r.store.Remove(ctx, key(path), "")
}

// SetAttr implements [room.Room].
func (m *resultsRoom) SetAttr(ctx context.Context, c room.Caller, path string, a backing.AttrChange) (room.Info, error) {
	if path == "" {
		return room.Info{}, syscall.EPERM
	}
	if path == listFile {
		return room.Info{}, backing.ErrReadOnly
	}
	if err := inRoom(path); err != nil {
		return room.Info{}, err
	}
	if isResult(path) {
		info, ok := m.r.index.setAttr(path, a)
		if !ok {
			return info, backing.ErrNotFound
		}
		return info, nil
	}
	meta, err := m.r.store.SetAttr(ctx, key(path), a)
	if err != nil {
		return room.Info{}, err
	}
	info, _ := plainInfo(meta)
	return info, nil
}

// Symlink implements [room.Room]: an editor's lock would be the only use.
func (m *resultsRoom) Symlink(ctx context.Context, c room.Caller, target, link string) (room.Info, error) {
	return room.Info{}, m.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: path(link), Reason: "symbolic links are not kept among the results",
		Fix: "copy the file"})
}

// Readlink implements [room.Room].
func (m *resultsRoom) Readlink(ctx context.Context, path string) (string, error) {
	if _, err := m.Stat(ctx, path); err != nil {
		return "", err
	}
	return "", syscall.EINVAL
}

// deny notes a refusal that has no draft and returns it.
func (m *resultsRoom) deny(c room.Caller, err error) error {
	var refusal *codec.Refusal
	if errors.As(err, &refusal) {
		m.r.journal(*refusal, c)
	}
	return err
}
