package memories

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// absent reports that there is nothing, or no file, where one was looked for.
func absent(err error) bool {
	return errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir)
}

func notThere(err error) error {
	if absent(err) {
		return backing.ErrNotFound
	}
	return err
}

// Stat implements [room.Room]. Of a context document it describes the newest
// acknowledged one.
func (s *Memories) Stat(ctx context.Context, path string) (room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return room.Info{}, err
	}
	switch {
	case p.memory == "":
		return s.statTop(ctx)
	case CheckMemory(p.memory) != nil:
		return room.Info{}, backing.ErrNotFound
	case p.file == "":
		return s.statDir(ctx, p.memory)
	case p.file == contextFile:
		return s.statContext(ctx, p.memory)
	case p.file == snapshotFile:
		return s.statSnapshot(ctx, p.memory)
	}
	key := s.scratchKey(p)
	m, err := s.store.Stat(ctx, key)
	if err != nil {
		return room.Info{}, notThere(err)
	}
	return fileInfo(m)
}

func (s *Memories) statTop(ctx context.Context) (room.Info, error) {
	m, err := s.store.Stat(ctx, s.top)
	if errors.Is(err, backing.ErrNotFound) {
		// Nobody has made a memory yet.
		if m, err = s.store.Stat(ctx, ""); err == nil {
			return room.Info{Kind: room.Dir, Mode: 0o755, ModTime: m.ModTime}.Own(), nil
		}
	}
	if err != nil {
		return room.Info{}, err
	}
	return dirInfo("", m), nil
}

func (s *Memories) statDir(ctx context.Context, memory string) (room.Info, error) {
	m, err := s.store.Stat(ctx, s.dirKey(memory))
	if err != nil {
		return room.Info{}, notThere(err)
	}
	if !m.Dir {
		return room.Info{}, backing.ErrNotFound
	}
	return dirInfo(memory, m), nil
}

func dirInfo(name string, m backing.Meta) room.Info {
	return room.Info{Name: name, Kind: room.Dir, ModTime: m.ModTime, Mode: m.Mode, UID: m.UID, GID: m.GID}
}

// fileInfo describes an ordinary file, or a link; entries.jsonl too.
func fileInfo(m backing.Meta) (room.Info, error) {
	if m.Dir || m.Special {
		return room.Info{}, backing.ErrNotFound
	}
	kind := room.Plain
	if m.Link {
		kind = room.Link
	}
	return room.Info{Name: m.Key.Name(), Kind: kind, Size: m.Size, ModTime: m.ModTime,
		Mode: m.Mode, UID: m.UID, GID: m.GID, Revision: m.Revision, Number: m.Number,
		Lines: kind == room.Plain && m.Key.Name() == entriesFile}, nil
}

// stored describes context.md or context.json on the disk.
func (s *Memories) stored(ctx context.Context, memory, file string) (room.Info, error) {
	m, err := s.store.Stat(ctx, s.key(memory, file))
	if err != nil {
		return room.Info{}, notThere(err)
	}
	if m.Dir || m.Link || m.Special {
		return room.Info{}, backing.ErrNotFound
	}
	return room.Info{Name: file, Kind: room.Object, Size: m.Size, ModTime: m.ModTime,
		Mode: m.Mode, UID: m.UID, GID: m.GID, Revision: m.Revision}, nil
}

// statContext describes the newest acknowledged context document. A content
// keeps the revision that it got when it was queued, so that its arrival on
// the disk is no change for readers.
func (s *Memories) statContext(ctx context.Context, memory string) (room.Info, error) {
	known := s.look(memory)
	t := known.queued()
	info, err := s.stored(ctx, memory, contextFile)
	if t == nil {
		if err == nil {
			info.Revision = known.shownAs(info.Revision)
			return info, nil
		}
		// It may have been queued since the first look.
		if t = known.queued(); t == nil {
			return info, err
		}
	}
	if err != nil && !absent(err) {
		return info, err
	}
	if err != nil {
		info = room.Info{Name: contextFile, Kind: room.Object, Mode: 0o644}.Own()
	}
	return t.describe(info), nil
}

// describe is what info will be when t is on disk.
func (t *text) describe(info room.Info) room.Info {
	info.Size, info.ModTime, info.Revision = int64(len(t.content)), t.at, t.rev
	return dressed(info, t.attr)
}

// dressed is info after a.
func dressed(info room.Info, a backing.AttrChange) room.Info {
	if a.Mode != nil {
		info.Mode = a.Mode.Perm()
	}
	if a.ModTime != nil {
		info.ModTime = *a.ModTime
	}
	if a.UID != nil {
		info.UID = *a.UID
	}
	if a.GID != nil {
		info.GID = *a.GID
	}
	return info
}

// shownAs is the revision that readers know the stored revision by. m may be
// nil.
func (m *memory) shownAs(stored backing.Revision) backing.Revision {
	if m == nil {
		return stored
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown != "" && m.stored == stored {
		return m.shown
	}
	return stored
}

// snapshotPrefix turns a queued context's revision into that of its snapshot.
const snapshotPrefix = "snapshot-of-"

func (s *Memories) statSnapshot(ctx context.Context, memory string) (room.Info, error) {
	info, err := s.stored(ctx, memory, snapshotFile)
	if err != nil && !absent(err) {
		return info, err
	}
	t := s.look(memory).queued()
	if t == nil && err != nil {
		return info, err
	}
	// It holds what the document holds: the same users may read it.
	doc, derr := s.statContext(ctx, memory)
	switch {
	case derr == nil:
		info.Mode, info.UID, info.GID = doc.Mode, doc.UID, doc.GID
	case !absent(derr):
		return info, derr
	}
	info.Mode &= readOnlyMode
	if t == nil {
		return info, nil
	}
	info.Name, info.Kind = snapshotFile, room.Object
	info.Size, info.ModTime = int64(len(snapshotOf(t.content))), t.at
	info.Revision = snapshotPrefix + t.rev
	return info, nil
}

// readOnlyMode are the permission bits that context.json can have here.
const readOnlyMode fs.FileMode = 0o444

// List implements [room.Room].
func (s *Memories) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	p, err := placeOf(dir)
	if err != nil {
		return nil, err
	}
	if p.file != "" {
		return nil, backing.ErrNotDir
	}
	if p.memory == "" {
		return s.listTop(ctx, after, limit)
	}
	if _, err := s.Stat(ctx, dir); err != nil {
		return nil, err
	}
	all, err := s.members(ctx, p.memory)
	if err != nil {
		return nil, err
	}
	i, found := slices.BinarySearchFunc(all, after, func(i room.Info, name string) int { return strings.Compare(i.Name, name) })
	if found {
		i++
	}
	return all[i:min(len(all), i+max(limit, 0))], nil
}

func (s *Memories) listTop(ctx context.Context, after string, limit int) ([]room.Info, error) {
	var list []room.Info
	for len(list) < limit {
		page, err := s.store.List(ctx, s.top, after, limit)
		if errors.Is(err, backing.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			after = m.Key.Name()
			if m.Dir && CheckMemory(after) == nil && len(list) < limit {
				list = append(list, dirInfo(after, m))
			}
		}
		if len(page) < limit {
			break
		}
	}
	return list, nil
}

// members are the files of a memory, in the order of their names.
func (s *Memories) members(ctx context.Context, memory string) ([]room.Info, error) {
	var all []room.Info
	add := func(m backing.Meta) error {
		if info, err := fileInfo(m); err == nil {
			all = append(all, info)
		}
		return nil
	}
	err := s.each(ctx, s.dirKey(memory), func(m backing.Meta) error {
		if p := (place{memory: memory, file: m.Key.Name()}); isTmp(p.file) || p.file == contextFile || p.file == snapshotFile {
			return nil
		}
		return add(m)
	})
	if err == nil {
		err = s.each(ctx, asideDir.Join(memory), add)
	}
	if err != nil {
		return nil, err
	}
	for _, file := range []string{contextFile, snapshotFile} {
		info, err := s.Stat(ctx, memory+"/"+file)
		if err == nil {
			all = append(all, info)
		} else if !absent(err) {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b room.Info) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
