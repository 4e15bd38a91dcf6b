package memories

import (
	"context"
	"errors"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// Write implements [room.Room]: a draft of context.md, entries.jsonl for
// appending, any other file in place.
func (s *Memories) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	p, err := placeOf(path)
	switch {
	case err != nil:
		return nil, room.Info{}, err
	case p.memory == "" || p.file == "" && s.isDir(ctx, p.memory):
		return nil, room.Info{}, backing.ErrIsDir
	case p.file == "":
		return nil, room.Info{}, s.noFileHere(c, p, o)
	}
	if _, err := s.Stat(ctx, p.memory); err != nil {
		return nil, room.Info{}, err
	}
	info, err := s.Stat(ctx, path)
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return nil, info, err
	}
	exists := err == nil
	switch {
	case exists && o.New && o.Exclusive:
		return nil, info, backing.ErrExists
	case !exists && !o.New:
		return nil, info, backing.ErrNotFound
	case p.file == snapshotFile:
		return nil, info, s.deny(c, readOnlySnapshot(p))
	case p.file == contextFile:
		return s.openDraft(p, c, info, exists, o)
	case p.file == entriesFile:
		return s.openEntries(ctx, p, c, o)
	}
	return s.openScratch(ctx, p, c, o, exists)
}

func (s *Memories) isDir(ctx context.Context, memory string) bool {
	info, err := s.Stat(ctx, memory)
	return err == nil && info.Kind == room.Dir
}

// noFileHere answers who opens a file beside the memories.
func (s *Memories) noFileHere(c room.Caller, p place, o room.Create) error {
	if !o.New {
		return backing.ErrNotFound
	}
	return s.deny(c, refuse(syscall.EPERM, p.path, "",
		"mkdir memories/<name>, then write memories/<name>/context.md", "memories are directories"))
}

func readOnlySnapshot(p place) *codec.Refusal {
	return refuse(syscall.EACCES, p.path, "", "write "+contextFile, "%s follows %s and is not written itself", snapshotFile, contextFile)
}

// openScratch opens an ordinary file in place.
func (s *Memories) openScratch(ctx context.Context, p place, c room.Caller, o room.Create, exists bool) (room.File, room.Info, error) {
	files, err := s.plain()
	if err != nil {
		return nil, room.Info{}, err
	}
	if len(p.file)+len(rejEnd) > 255 && !exists {
		return nil, room.Info{}, backing.ErrNameTooLong
	}
	flags := o.Flags &^ (syscall.O_CREAT | syscall.O_EXCL)
	if o.New {
		flags |= syscall.O_CREAT
		if o.Exclusive {
			flags |= syscall.O_EXCL
		}
		if isTmp(p.file) {
			if err := room.MakeOwnDir(ctx, s.store, asideDir.Join(p.memory)); err != nil {
				return nil, room.Info{}, err
			}
		}
	}
	key := s.scratchKey(p)
	f, err := files.OpenFile(ctx, key, flags, o.Mode.Perm())
	if err != nil {
		return nil, room.Info{}, err
	}
	m, err := f.Stat()
	if err != nil {
		return nil, room.Info{}, errors.Join(err, f.Close())
	}
	m.Key = key
	if !exists {
		m = s.give(ctx, c, m)
	}
	info, err := fileInfo(m)
	if err != nil {
		return nil, room.Info{}, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// plain is the store's capability for ordinary files, or ENOTSUP.
func (s *Memories) plain() (backing.Files, error) {
	if s.files == nil {
		return nil, syscall.ENOTSUP
	}
	return s.files, nil
}

// give makes a new file the property of the process that made it, which
// matters where the mount serves several users.
func (s *Memories) give(ctx context.Context, c room.Caller, m backing.Meta) backing.Meta {
	if c.PID == 0 || m.UID == c.UID {
		return m
	}
	owned, err := s.store.SetAttr(ctx, m.Key, backing.AttrChange{UID: &c.UID, GID: &c.GID})
	if err != nil {
		s.o.Log.Warn("a new file keeps the daemon's owner", "path", m.Key, "uid", c.UID, "err", err)
		return m
	}
	return owned
}
