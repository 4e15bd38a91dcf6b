package memories

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// MakeDir implements [room.Room]: it makes a memory.
func (s *Memories) MakeDir(ctx context.Context, c room.Caller, path string, mode fs.FileMode) (room.Info, error) {
	p, err := placeOf(path)
	switch {
	case err != nil:
		return room.Info{}, err
	case p.memory == "":
		return room.Info{}, backing.ErrExists
	case p.file != "":
		return room.Info{}, s.deny(c, refuse(syscall.EPERM, path, "", "make another memory: mkdir memories/<name>",
			"a memory has no directories"))
	}
	if err := CheckMemory(p.memory); err != nil {
		return room.Info{}, s.deny(c, withPath(err, path, 0))
	}
	if err := s.makeTop(ctx); err != nil {
		return room.Info{}, err
	}
	m, err := s.store.MakeDir(ctx, s.dirKey(p.memory), mode.Perm())
	if err != nil {
		return room.Info{}, err
	}
	s.changed(path)
	return dirInfo(p.memory, s.give(ctx, c, m)), nil
}

// RemoveDir implements [room.Room]: it removes a memory that has neither a
// context document nor entries.
func (s *Memories) RemoveDir(ctx context.Context, c room.Caller, path string) error {
	p, err := placeOf(path)
	if err != nil {
		return err
	}
	if p.memory == "" {
		return syscall.EBUSY
	}
	if info, err := s.Stat(ctx, path); err != nil {
		return err
	} else if info.Kind != room.Dir {
		return backing.ErrNotDir
	}
	m := s.get(p.memory)
	defer m.release()
	err = s.alone(ctx, m, func(ctx context.Context) error { return s.removeMemory(ctx, m) })
	if err == nil {
		s.changed(path)
	}
	return err
}

// removeMemory is the job of RemoveDir. A snapshot alone is no content.
func (s *Memories) removeMemory(ctx context.Context, m *memory) error {
	all, err := s.members(ctx, m.name)
	if err != nil {
		return err
	}
	for _, info := range all {
		if info.Name != snapshotFile {
			return fmt.Errorf("%w: %w", errNotAgain, backing.ErrNotEmpty)
		}
	}
	if err := s.store.Remove(ctx, s.key(m.name, snapshotFile), ""); err != nil && !errors.Is(err, backing.ErrNotFound) {
		return err
	}
	m.mu.Lock()
	m.made = false
	m.mu.Unlock()
	if err := s.store.RemoveDir(ctx, s.dirKey(m.name)); err != nil {
		return fmt.Errorf("%w: %w", errNotAgain, err)
	}
	return nil
}

// Remove implements [room.Room]. A context document goes with its snapshot;
// entries stay.
func (s *Memories) Remove(ctx context.Context, c room.Caller, path string) error {
	p, info, err := s.file(ctx, path)
	switch {
	case err != nil:
		return err
	case info.Kind == room.Dir:
		return backing.ErrIsDir
	case p.file == snapshotFile:
		return s.deny(c, readOnlySnapshot(p))
	case p.file == entriesFile:
		return s.deny(c, appendOnly(p, "entries are added, never removed"))
	case p.file == contextFile:
		return s.inQueue(ctx, p.memory, func(ctx context.Context) error { return s.removeContext(ctx, p.memory) })
	}
	files, err := s.plain()
	if err != nil {
		return err
	}
	return files.Unlink(ctx, s.scratchKey(p))
}

func (s *Memories) file(ctx context.Context, path string) (place, room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return p, room.Info{}, err
	}
	info, err := s.Stat(ctx, path)
	return p, info, err
}

// inQueue runs a change of a context document behind all that was queued.
func (s *Memories) inQueue(ctx context.Context, memory string, run func(context.Context) error) error {
	m := s.get(memory)
	defer m.release()
	err := s.alone(ctx, m, func(ctx context.Context) error {
		if err := s.writeFailed(ctx, m); err != nil {
			return err
		}
		return run(ctx)
	})
	s.changed(memory + "/" + contextFile)
	s.changed(memory + "/" + snapshotFile)
	return err
}

// removeContext is the job that removes a context document.
func (s *Memories) removeContext(ctx context.Context, memory string) error {
	err := s.store.Remove(ctx, s.key(memory, contextFile), "")
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return err
	}
	return s.replace(ctx, s.key(memory, snapshotFile), snapshotOf(""))
}

// Rename implements [room.Room]. A rename onto context.md is a save, which is
// on disk when it returns; one away from it leaves the memory without, until
// the next save, as editors that keep a backup do.
func (s *Memories) Rename(ctx context.Context, c room.Caller, from, to string, flags uint) error {
	src, info, err := s.file(ctx, from)
	if err != nil {
		return err
	}
	dst, err := placeOf(to)
	if err != nil {
		return err
	}
	if from == to {
		return nil
	}
	if info.Kind == room.Dir || dst.file == "" {
		return s.deny(c, refuse(syscall.EPERM, from, "", "make another memory and copy what you need",
			"a memory keeps its name, by which its backend knows it"))
	}
	if err := s.checkRename(ctx, src, dst, flags); err != nil {
		return s.deny(c, err)
	}
	files, err := s.plain()
	if err != nil {
		return err
	}
	switch {
	case dst.file == contextFile:
		return s.saveFile(ctx, files, c, src, dst)
	case src.file == contextFile:
		return s.moveAway(ctx, files, src, dst, flags)
	}
	return files.Rename(ctx, s.scratchKey(src), s.scratchKey(dst), flags)
}

// moveAway makes the context document at src the ordinary file at dst.
func (s *Memories) moveAway(ctx context.Context, files backing.Files, src, dst place, flags uint) error {
	moved := false
	return s.inQueue(ctx, src.memory, func(ctx context.Context) error {
		if !moved {
			if err := files.Rename(ctx, s.key(src.memory, contextFile), s.scratchKey(dst), flags); err != nil {
				return err
			}
			moved = true
		}
		return s.removeContext(ctx, src.memory)
	})
}

func (s *Memories) checkRename(ctx context.Context, src, dst place, flags uint) error {
	if _, err := s.Stat(ctx, dst.memory); err != nil {
		return err
	}
	_, err := s.Stat(ctx, dst.path)
	switch {
	case err != nil && !errors.Is(err, backing.ErrNotFound):
		return err
	case err == nil && flags&unix.RENAME_NOREPLACE != 0:
		return backing.ErrExists
	case src.file == contextFile && src.memory != dst.memory:
		return syscall.EXDEV // upon which mv copies
	case src.file == snapshotFile || dst.file == snapshotFile:
		return readOnlySnapshot(place{path: src.memory + "/" + snapshotFile})
	case src.file == entriesFile || dst.file == entriesFile:
		return appendOnly(src, "entries are added, never replaced or moved")
	case flags&unix.RENAME_EXCHANGE != 0 && (src.ours() || dst.ours()):
		return refuse(syscall.EPERM, dst.path, "", "rename the new content onto it", "a context document is not exchanged with another file")
	}
	return nil
}

func appendOnly(p place, reason string) *codec.Refusal {
	return refuse(syscall.EPERM, p.path, "", "append a line to "+entriesFile+" (>>)", "%s", reason)
}

// saveFile makes the ordinary file at src the context document at dst. The
// file goes when the document is on disk.
func (s *Memories) saveFile(ctx context.Context, files backing.Files, c room.Caller, src, dst place) error {
	m, err := s.store.Stat(ctx, s.scratchKey(src))
	if err != nil {
		return err
	}
	if m.Link || m.Dir || m.Special {
		return backing.ErrNotRegular
	}
	if err := s.checkSize(dst.memory, m.Size); err != nil {
		return s.deny(c, err)
	}
	var b strings.Builder
	content, err := s.store.Open(ctx, m.Key, "")
	if err != nil {
		return err
	}
	_, err = io.Copy(&b, io.NewSectionReader(content, 0, content.Size()))
	if err := errors.Join(err, content.Close()); err != nil {
		return fmt.Errorf("read %s: %w", src.path, err)
	}
	attr := backing.AttrChange{Mode: &m.Mode, UID: &m.UID, GID: &m.GID}
	if _, err := s.put(ctx, dst.memory, b.String(), attr); err != nil {
		return s.deny(c, err)
	}
	if err := s.AwaitConsistency(ctx, dst.memory); err != nil {
		return err
	}
	s.removeReject(ctx, dst)
	if err := files.Unlink(ctx, m.Key); err != nil && !errors.Is(err, backing.ErrNotFound) {
		s.o.Log.Warn("a file stays after it was saved as a context document", "path", src.path, "err", err)
	}
	s.changed(src.path)
	return nil
}
