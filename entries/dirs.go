package entries

import (
	"context"
	"io/fs"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// MakeDir implements [room.Room]: an agent's directory, or one of a session
// in it.
func (e *Entries) MakeDir(ctx context.Context, c room.Caller, path string, mode fs.FileMode) (room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return room.Info{}, err
	}
	if p.depth == 0 {
		return room.Info{}, backing.ErrExists
	}
	if err := p.checkDir(); err != nil {
		return room.Info{}, e.deny(c, err)
	}
	m, err := e.store.MakeDir(ctx, p.key(), mode.Perm())
	if err != nil {
		return room.Info{}, err
	}
	info, _ := p.info(e.own(ctx, c, m))
	return info, nil
}

// RemoveDir implements [room.Room]. Pending entries count as entries.
func (e *Entries) RemoveDir(ctx context.Context, _ room.Caller, path string) error {
	info, err := e.Stat(ctx, path)
	switch {
	case err != nil:
		return err
	case path == "":
		return syscall.EBUSY
	case info.Kind != room.Dir:
		return backing.ErrNotDir
	}
	defer e.paths.lock(path)()
	if len(e.pendingIn(path, "")) > 0 {
		return backing.ErrNotEmpty
	}
	return e.store.RemoveDir(ctx, backing.Key(path))
}

// Remove implements [room.Room]: everything but entries goes.
func (e *Entries) Remove(ctx context.Context, c room.Caller, path string) error {
	info, err := e.Stat(ctx, path)
	if err != nil {
		return err
	}
	switch info.Kind {
	case room.Dir:
		return backing.ErrIsDir
	case room.Object:
		return e.removeEntry(c, path)
	case room.Link:
		files, err := e.files()
		if err != nil {
			return err
		}
		return files.Unlink(ctx, backing.Key(path))
	}
	return e.store.Remove(ctx, backing.Key(path), "")
}

// removeEntry removes a pending entry and refuses to remove a stored one.
func (e *Entries) removeEntry(c room.Caller, path string) error {
	if e.dropPending(path) {
		return nil
	}
	return e.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: path,
		Reason: "entries are never deleted",
		Fix:    "write a new entry with `supersedes: [" + path + "]`; old ones go with `ctxfs gc`"})
}

// Symlink implements [room.Room]: only the locks of editors.
func (e *Entries) Symlink(ctx context.Context, c room.Caller, target, path string) (room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return room.Info{}, err
	}
	if p.depth < 2 || p.depth > 3 || !lockName(p.name) {
		return room.Info{}, e.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: path,
			Reason: "symbolic links are not kept here, but for an editor's lock",
			Fix:    "put the path into the `links:` of an entry, or copy the file"})
	}
	files, err := e.files()
	if err != nil {
		return room.Info{}, err
	}
	if err := files.Symlink(ctx, target, p.key()); err != nil {
		return room.Info{}, err
	}
	return e.look(ctx, p)
}
