package access

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"

	"ctxfs/backing"
	"ctxfs/room"
)

// content is an open content that is also read from its beginning.
type content struct {
	*io.SectionReader
	io.Closer
	size int64
}

func (c content) Size() int64 { return c.size }

// Open implements [Files].
func (s *Store) Open(ctx context.Context, path string) (File, error) {
	r, at, err := s.room(ctx, "open", path)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat(ctx, at)
	if err != nil {
		return nil, named("open", path, err)
	}
	switch info.Kind {
	case room.Dir:
		return nil, named("open", path, backing.ErrIsDir)
	case room.Link:
		return nil, named("open", path, syscall.ELOOP)
	case room.Plain:
		f, _, err := r.Write(ctx, s.o.Caller, at, room.Create{Flags: syscall.O_RDONLY})
		if err != nil {
			return nil, named("open", path, err)
		}
		return content{io.NewSectionReader(f, 0, info.Size), f, info.Size}, nil
	}
	c, err := r.Read(ctx, at, "")
	if err != nil {
		return nil, named("open", path, err)
	}
	opened := content{io.NewSectionReader(c, 0, c.Size()), c, c.Size()}
	if info.Kind == room.Virtual {
		opened.size = 0 // as a mount says it
	}
	return opened, nil
}

// Stat implements [Files].
func (s *Store) Stat(ctx context.Context, path string) (Info, error) {
	r, at, err := s.room(ctx, "stat", path)
	if err != nil {
		return Info{}, err
	}
	info, err := r.Stat(ctx, at)
	if err != nil {
		return Info{}, named("stat", path, err)
	}
	if info.Name == "" {
		info.Name = backing.Key(path).Name()
	}
	return described(info), nil
}

func described(i room.Info) Info {
	return Info{Name: i.Name, Dir: i.Kind == room.Dir, Size: i.Size, ModTime: i.ModTime}
}

// page is how many names a room is asked for at a time.
const page = 1000

// List implements [Files].
func (s *Store) List(ctx context.Context, dir string) ([]Info, error) {
	r, at, err := s.room(ctx, "list", dir)
	if err != nil {
		return nil, err
	}
	var all []Info
	for after := ""; ; {
		infos, err := r.List(ctx, at, after, page)
		if err != nil {
			return nil, named("list", dir, err)
		}
		for _, i := range infos {
			all = append(all, described(i))
			after = i.Name
		}
		if len(infos) < page {
			break
		}
	}
	if dir == "" {
		return s.withRooms(ctx, all)
	}
	return all, nil
}

// withRooms adds what stands at the top beside the agents.
func (s *Store) withRooms(ctx context.Context, agents []Info) ([]Info, error) {
	all := make([]Info, 0, len(names)+len(agents))
	for _, name := range names {
		info, err := s.Stat(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	all = append(all, agents...)
	sortInfos(all)
	return all, nil
}

// GetXattr implements [Files].
func (s *Store) GetXattr(ctx context.Context, path, attr string) ([]byte, error) {
	r, at, err := s.room(ctx, "getxattr", path)
	if err != nil {
		return nil, err
	}
	x, ok := r.(room.Xattrs)
	if !ok {
		return nil, named("getxattr", path, syscall.ENOTSUP)
	}
	value, err := x.GetXattr(ctx, at, attr)
	return value, named("getxattr", path, err)
}

// SetXattr implements [Files].
func (s *Store) SetXattr(ctx context.Context, path, attr string, value []byte) error {
	r, at, err := s.room(ctx, "setxattr", path)
	if err != nil {
		return err
	}
	return named("setxattr", path, setXattr(ctx, r, s.o.Caller, at, attr, string(value)))
}

func setXattr(ctx context.Context, r room.Room, c room.Caller, at, attr, value string) error {
	x, ok := r.(room.Xattrs)
	if !ok {
		return syscall.ENOTSUP
	}
	return x.SetXattr(ctx, c, at, attr, []byte(value))
}

// missing reports that there is nothing at a path, and could be.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
