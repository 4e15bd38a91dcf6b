package views

import (
	"context"
	"strings"
	"time"

	"ctxfs/backing"
	"ctxfs/index"
	"ctxfs/room"
)

// Source answers what is under which value; *index.Index is one.
type Source interface {
	Values(ctx context.Context, k index.Kind, after string, limit int) ([]string, error)
	HasValue(ctx context.Context, k index.Kind, value string) (bool, error)
	Members(ctx context.Context, k index.Kind, value, after string, limit int) ([]index.Member, error)
	Member(ctx context.Context, k index.Kind, value, link string) (index.Member, bool, error)
}

// kinds are the directories at the top, in order.
var kinds = []struct {
	name string
	kind index.Kind
}{
	{"agent", index.ByAgent},
	{"backlinks", index.ByBacklinks},
	{"session", index.BySession},
	{"superseded", index.BySuperseded},
	{"tag", index.ByTag},
	{"type", index.ByType},
}

// up leads from a directory of links to the top of the mount.
const up = "../../../../"

// Views is the room. It implements [room.Room].
type Views struct {
	readOnly
	source  Source
	started time.Time
}

var _ room.Room = (*Views)(nil)

// New returns the room of what source knows. started is shown as the time of
// directories.
func New(source Source, started time.Time) *Views {
	return &Views{source: source, started: started}
}

func kindOf(name string) (index.Kind, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k.kind, true
		}
	}
	return 0, false
}

// Stat implements [room.Room].
func (v *Views) Stat(ctx context.Context, path string) (room.Info, error) {
	if path == "" {
		return v.dir(""), nil
	}
	parts := strings.Split(path, "/")
	kind, ok := kindOf(parts[0])
	if !ok {
		return room.Info{}, backing.ErrNotFound
	}
	switch len(parts) {
	case 1:
		return v.dir(parts[0]), nil
	case 2:
		ok, err := v.source.HasValue(ctx, kind, parts[1])
		if err == nil && !ok {
			err = backing.ErrNotFound
		}
		return v.dir(parts[1]), err
	case 3:
		m, err := v.member(ctx, path)
		return link(m), err
	}
	return room.Info{}, backing.ErrNotFound
}

// member finds the entry that a path of three names means.
func (v *Views) member(ctx context.Context, path string) (index.Member, error) {
	parts := strings.Split(path, "/")
	if len(parts) != 3 {
		return index.Member{}, backing.ErrNotRegular
	}
	kind, ok := kindOf(parts[0])
	if !ok {
		return index.Member{}, backing.ErrNotFound
	}
	m, ok, err := v.source.Member(ctx, kind, parts[1], parts[2])
	if err == nil && !ok {
		err = backing.ErrNotFound
	}
	return m, err
}

// List implements [room.Room].
func (v *Views) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	if dir == "" {
		var all []room.Info
		for _, k := range kinds {
			if k.name > after && len(all) < limit {
				all = append(all, v.dir(k.name))
			}
		}
		return all, nil
	}
	parts := strings.Split(dir, "/")
	kind, ok := kindOf(parts[0])
	if !ok {
		return nil, backing.ErrNotFound
	}
	var all []room.Info
	switch len(parts) {
	case 1:
		values, err := v.source.Values(ctx, kind, after, limit)
		for _, value := range values {
			all = append(all, v.dir(value))
		}
		return all, err
	case 2:
		members, err := v.source.Members(ctx, kind, parts[1], after, limit)
		for _, m := range members {
			all = append(all, link(m))
		}
		return all, err
	}
	return nil, backing.ErrNotDir
}

// Readlink implements [room.Room].
func (v *Views) Readlink(ctx context.Context, path string) (string, error) {
	m, err := v.member(ctx, path)
	if err != nil {
		return "", err
	}
	return up + m.Path, nil
}

// Read implements [room.Room]: there is no content here.
func (v *Views) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	if _, err := v.Stat(ctx, path); err != nil {
		return nil, err
	}
	return nil, backing.ErrNotRegular
}

func (v *Views) dir(name string) room.Info {
	return room.Info{Name: name, Kind: room.Dir, Mode: 0o555, ModTime: v.started, Volatile: true}.Own()
}

func link(m index.Member) room.Info {
	return room.Info{Name: m.Link, Kind: room.Link, Mode: 0o777, ModTime: m.Time,
		Size: int64(len(up) + len(m.Path)), Volatile: true}.Own()
}
