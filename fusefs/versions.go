package fusefs

import (
	"context"
	"strconv"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// Below .ctxfs/versions the directories of the store stand again, and each
// entry as a directory of its old versions. Who may not read the entry, or
// enter its directory, may not do so here either.

// statVersion describes what is below versions/.
func (c *control) statVersion(ctx context.Context, path string) (room.Info, error) {
	key, n, ok, err := c.version(ctx, path)
	if err != nil {
		return room.Info{}, err
	}
	m, err := c.f.o.Store.Stat(ctx, key)
	if err != nil || !ok {
		return c.f.versionsOf(m), err
	}
	v, err := c.f.o.Store.StatVersion(ctx, key, n)
	if err != nil {
		return room.Info{}, err
	}
	return versionInfo(v, m), nil
}

// versionsOf is the directory that stands for m: a directory of the store, or
// an entry, whose readers may list and enter it.
func (f *FS) versionsOf(m backing.Meta) room.Info {
	info := f.ownDir(m.Key.Name())
	info.Mode, info.UID, info.GID = m.Mode.Perm()&0o555, m.UID, m.GID
	if !m.Dir {
		info.Mode = m.Mode.Perm() & 0o444
		info.Mode |= info.Mode >> 2
	}
	return info
}

// versionInfo describes the version v of the entry cur: whoever could read it
// then, and may read the entry now.
func versionInfo(v backing.Version, cur backing.Meta) room.Info {
	return room.Info{Name: strconv.Itoa(v.N), Kind: room.Object, Size: v.Size, Mode: v.Mode & cur.Mode & 0o444,
		ModTime: v.ModTime, UID: v.UID, GID: v.GID, Revision: v.Revision, Volatile: true}
}

// version takes a path below versions/ apart: the number of a version, where
// ok, else a directory. That is one of the store, or an entry that has
// versions.
func (c *control) version(ctx context.Context, path string) (key backing.Key, n int, ok bool, err error) {
	rest, found := strings.CutPrefix(path, versionsDir+"/")
	if !found {
		return "", 0, false, backing.ErrNotFound
	}
	key, err = backing.ParseKey(rest)
	if err != nil {
		return "", 0, false, backing.ErrNotFound
	}
	if n, err := strconv.Atoi(key.Name()); err == nil && strconv.Itoa(n) == key.Name() {
		if m, err := c.f.o.Store.Stat(ctx, key.Dir()); err == nil && !m.Dir {
			return key.Dir(), n, true, nil
		}
	}
	if key.Under(backing.Own) {
		return "", 0, false, backing.ErrNotFound
	}
	_, err = c.f.o.Store.Stat(ctx, key)
	return key, 0, false, err
}

// listVersions lists a directory below versions/: that of an entry holds its
// versions, any other what the store has there.
func (c *control) listVersions(ctx context.Context, dir string) ([]room.Info, error) {
	key := backing.Key("")
	if dir != versionsDir {
		k, _, isVersion, err := c.version(ctx, dir)
		if err != nil {
			return nil, err
		}
		if isVersion {
			return nil, backing.ErrNotDir
		}
		key = k
	}
	m, err := c.f.o.Store.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	var all []room.Info
	if !m.Dir {
		versions, err := c.f.o.Store.Versions(ctx, key)
		for _, v := range versions {
			all = append(all, versionInfo(v, m))
		}
		return all, err
	}
	return c.members(ctx, key)
}

// members are what a directory of the store holds, each as a directory of
// versions. What never had one is left out.
func (c *control) members(ctx context.Context, key backing.Key) ([]room.Info, error) {
	var all []room.Info
	after := ""
	for {
		metas, err := c.f.o.Store.List(ctx, key, after, page)
		if err != nil {
			return nil, err
		}
		for _, m := range metas {
			if !m.Dir {
				versions, err := c.f.o.Store.Versions(ctx, m.Key)
				if err != nil {
					return nil, err
				}
				if len(versions) == 0 {
					continue
				}
			}
			all = append(all, c.f.versionsOf(m))
		}
		if len(metas) < page {
			return all, nil
		}
		after = metas[len(metas)-1].Key.Name()
	}
}
