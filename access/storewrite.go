package access

import (
	"context"
	"errors"
	"io"
	"syscall"

	"ctxfs/backing"
	"ctxfs/room"
)

// Write implements [Files].
func (s *Store) Write(ctx context.Context, path string, content io.Reader, attrs map[string]string) error {
	return s.writing(ctx, "write", path, syscall.O_TRUNC, func(r room.Room, at string, f room.File) error {
		for _, attr := range sortedNames(attrs) {
			if err := setXattr(ctx, r, s.o.Caller, at, attr, attrs[attr]); err != nil {
				return err
			}
		}
		return copyTo(io.NewOffsetWriter(f, 0), content)
	})
}

// Append implements [Files].
func (s *Store) Append(ctx context.Context, path string, p []byte) error {
	return s.writing(ctx, "append to", path, syscall.O_APPEND, func(_ room.Room, _ string, f room.File) error {
		if a, ok := f.(room.Appender); ok {
			_, err := a.Append(p)
			return err
		}
		// Opened with O_APPEND: the position means nothing.
		_, err := f.WriteAt(p, 0)
		return err
	})
}

// writing calls do with the file at path, which it makes where it is missing,
// and its directory too. Then it does what the mount does at close(2).
func (s *Store) writing(ctx context.Context, op, path string, flags int, do func(r room.Room, at string, f room.File) error) error {
	r, at, err := s.room(ctx, op, path)
	if err != nil {
		return err
	}
	c := s.o.Caller
	o := room.Create{New: true, Mode: 0o644, Flags: syscall.O_WRONLY | syscall.O_CREAT | flags}
	f, _, err := r.Write(ctx, c, at, o)
	if missing(err) {
		if err = makeDirs(ctx, r, c, backing.Key(at).Dir()); err == nil {
			f, _, err = r.Write(ctx, c, at, o)
		}
	}
	if err != nil {
		return named(op, path, err)
	}
	d, isDraft := f.(room.Draft)
	if isDraft {
		d.By(c)
		if flags&syscall.O_TRUNC != 0 {
			err = d.Truncate(0)
		}
	}
	if err == nil {
		err = do(r, at, f)
	}
	if isDraft {
		err = end(ctx, d, err)
	}
	return named(op, path, errors.Join(err, f.Close()))
}

// end commits a draft that was written without an error, and lets the room
// keep one that was refused.
func end(ctx context.Context, d room.Draft, err error) error {
	if err == nil {
		err = d.Commit(context.WithoutCancel(ctx))
	}
	if err != nil {
		d.Refuse(ctx, err)
	}
	return err
}

func makeDirs(ctx context.Context, r room.Room, c room.Caller, dir backing.Key) error {
	if dir == "" {
		return nil
	}
	_, err := r.MakeDir(ctx, c, string(dir), 0o755)
	if missing(err) {
		if err = makeDirs(ctx, r, c, dir.Dir()); err == nil {
			_, err = r.MakeDir(ctx, c, string(dir), 0o755)
		}
	}
	if errors.Is(err, backing.ErrExists) {
		return nil
	}
	return err
}

// Remove implements [Files].
func (s *Store) Remove(ctx context.Context, path string) error {
	r, at, err := s.room(ctx, "remove", path)
	if err != nil {
		return err
	}
	return named("remove", path, r.Remove(ctx, s.o.Caller, at))
}

// Rename implements [Files].
func (s *Store) Rename(ctx context.Context, from, to string) error {
	r, old, err := s.room(ctx, "rename", from)
	if err != nil {
		return err
	}
	target, err := key("rename", to)
	if err != nil {
		return err
	}
	name, next := split(target)
	if here, _ := split(backing.Key(from)); name != here {
		return named("rename", from, syscall.EXDEV)
	}
	return named("rename", from, r.Rename(ctx, s.o.Caller, old, next, 0))
}

// Sync implements [Files].
func (s *Store) Sync(ctx context.Context, path string) error {
	r, at, err := s.room(ctx, "sync", path)
	if err != nil {
		return err
	}
	f, _, err := r.Write(ctx, s.o.Caller, at, room.Create{Flags: syscall.O_WRONLY})
	if err != nil {
		return named("sync", path, err)
	}
	return named("sync", path, errors.Join(f.Sync(), f.Close()))
}
