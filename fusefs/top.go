package fusefs

import (
	"bytes"
	"context"
	"maps"

	"ctxfs/backing"
	"ctxfs/room"
)

// controlDir and readmeFile are the two names at the top that the mount
// itself answers for.
const (
	controlDir = backing.Own
	readmeFile = "README"
)

// top makes the node of the mountpoint.
func (f *FS) top() *node {
	r := room.Room(&topRoom{Room: f.o.Root, f: f})
	if x, ok := f.o.Root.(room.Xattrs); ok {
		r = struct {
			room.Room
			room.Xattrs
		}{r, x}
	}
	f.below = maps.Clone(f.o.Rooms)
	if f.below == nil {
		f.below = map[string]room.Room{}
	}
	f.below[controlDir] = &control{f: f}
	f.below[readmeFile] = &readme{f: f}
	info := f.ownDir("")
	info.Mode, info.Volatile = 0o755, false
	return &node{place: place{room: r}, info: info}
}

func (f *FS) rooms() map[string]room.Room { return f.below }

// topRoom is the room at the top, in whose listing the other rooms and the
// README stand too.
type topRoom struct {
	room.Room
	f *FS
}

func (r *topRoom) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	infos, err := r.Room.List(ctx, dir, after, limit)
	if dir != "" || err != nil {
		return infos, err
	}
	if after == "" {
		first := make([]room.Info, 0, len(r.f.below)+len(infos))
		for name, sub := range r.f.below {
			if name == controlDir {
				continue // reachable by name, never listed
			}
			info, err := sub.Stat(ctx, "")
			if err != nil {
				return nil, err
			}
			info.Name = name
			first = append(first, info)
		}
		infos = append(first, infos...)
	}
	return infos, nil
}

// readme is the file README at the top.
type readme struct {
	readOnly
	f *FS
}

func (r *readme) Stat(ctx context.Context, path string) (room.Info, error) {
	if path != "" {
		return room.Info{}, backing.ErrNotDir
	}
	return r.f.ownFile(readmeFile, int64(len(r.f.o.README))), nil
}

func (r *readme) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	return nil, backing.ErrNotDir
}

func (r *readme) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	return bytesContent{bytes.NewReader(r.f.o.README)}, nil
}
