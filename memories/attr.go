package memories

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// SetAttr implements [room.Room], behind what is queued.
func (s *Memories) SetAttr(ctx context.Context, c room.Caller, path string, a backing.AttrChange) (room.Info, error) {
	p, info, err := s.file(ctx, path)
	if err != nil {
		return info, err
	}
	if a.Mode != nil {
		perm := a.Mode.Perm()
		a.Mode = &perm
	}
	key := s.scratchKey(p)
	switch {
	case p.memory == "":
		key = s.top
	case p.file == "":
		key = s.dirKey(p.memory)
	case p.file == snapshotFile:
		return info, s.deny(c, readOnlySnapshot(p))
	}
	set := func(ctx context.Context) error {
		_, err := s.store.SetAttr(ctx, key, a)
		return err
	}
	if p.file == contextFile {
		err = s.inQueue(ctx, p.memory, set)
		s.changed(p.memory + "/" + snapshotFile)
	} else {
		err = set(ctx)
	}
	if err != nil {
		return info, err
	}
	return s.Stat(ctx, path)
}

// Symlink implements [room.Room]: for an editor's lock only.
func (s *Memories) Symlink(ctx context.Context, c room.Caller, target, path string) (room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return room.Info{}, err
	}
	if !strings.HasPrefix(p.file, ".#") {
		return room.Info{}, s.deny(c, refuse(syscall.EPERM, path, "", "copy the file",
			"symbolic links are not kept here, but for an editor's lock"))
	}
	files, err := s.plain()
	if err != nil {
		return room.Info{}, err
	}
	if err := files.Symlink(ctx, target, s.scratchKey(p)); err != nil {
		return room.Info{}, err
	}
	return s.Stat(ctx, path)
}

// Readlink implements [room.Room].
func (s *Memories) Readlink(ctx context.Context, path string) (string, error) {
	p, info, err := s.file(ctx, path)
	if err != nil {
		return "", err
	}
	if info.Kind != room.Link {
		return "", syscall.EINVAL
	}
	files, err := s.plain()
	if err != nil {
		return "", err
	}
	return files.Readlink(ctx, s.scratchKey(p))
}

// deny notes a refusal in the journal and returns it.
func (s *Memories) deny(c room.Caller, err error) error {
	var r *codec.Refusal
	if errors.As(err, &r) {
		s.journal(*r, c)
	}
	return err
}

func (s *Memories) journal(r codec.Refusal, c room.Caller) {
	s.o.Log.Info("refused", "path", r.Path, "errno", r.Errno.Error(), "line", r.Line, "reason", r.Reason)
	if s.o.Journal != nil {
		s.o.Journal.Refuse(r, c, s.o.Now())
	}
}

// withPath fills in where a refused line is, relative to the room.
func withPath(err error, path string, line int) error {
	var r *codec.Refusal
	if errors.As(err, &r) {
		r.Path, r.Line = roomDir+"/"+path, line
	}
	return err
}
