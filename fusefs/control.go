package fusefs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/room"
)

// control is the directory .ctxfs at the top: version, stats, errors, and
// every overwritten version of every entry. It is reachable by name and never
// listed, so that programs that walk the tree don't take old versions for
// entries.
type control struct {
	readOnly
	f *FS
}

// controlFiles are made when they are opened.
var controlFiles = map[string]func(*FS) ([]byte, error){
	"version": func(f *FS) ([]byte, error) { return []byte(f.o.Version + "\n"), nil },
	"stats":   (*FS).statsFile,
	"errors":  func(f *FS) ([]byte, error) { return f.o.Journal.Last(), nil },
}

const (
	versionsDir = "versions"
	viewsDir    = "views"
)

// file is what makes the content of a file in .ctxfs, nil where there is none.
func (c *control) file(name string) func() ([]byte, error) {
	if own := controlFiles[name]; own != nil {
		return func() ([]byte, error) { return own(c.f) }
	}
	return c.f.o.Control[name]
}

// view is the path in the views that path means, if it means one.
func (c *control) view(path string) (rest string, ok bool) {
	if c.f.o.Views == nil || path != viewsDir && !strings.HasPrefix(path, viewsDir+"/") {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(path, viewsDir), "/"), true
}

func (c *control) Stat(ctx context.Context, path string) (room.Info, error) {
	if path == "" || path == versionsDir {
		return c.f.ownDir(path), nil
	}
	if rest, ok := c.view(path); ok {
		return c.f.o.Views.Stat(ctx, rest)
	}
	if c.file(path) != nil {
		return c.f.ownFile(path, 0), nil
	}
	key, n, ok, err := c.version(ctx, path)
	if err != nil || !ok {
		return c.f.ownDir(backing.Key(path).Name()), err
	}
	versions, err := c.f.o.Store.Versions(ctx, key)
	if err != nil {
		return room.Info{}, err
	}
	for _, v := range versions {
		if v.N == n {
			return c.f.versionInfo(v), nil
		}
	}
	return room.Info{}, backing.ErrNotFound
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

func (c *control) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	if rest, ok := c.view(dir); ok {
		return c.f.o.Views.List(ctx, rest, after, limit)
	}
	var all []room.Info
	switch dir {
	case "":
		all = c.own()
	default:
		infos, err := c.listVersions(ctx, dir)
		if err != nil {
			return nil, err
		}
		all = infos
	}
	slices.SortFunc(all, func(a, b room.Info) int { return strings.Compare(a.Name, b.Name) })
	i, _ := slices.BinarySearchFunc(all, after+"\x00", func(a room.Info, name string) int { return strings.Compare(a.Name, name) })
	if after == "" {
		i = 0
	}
	return all[i:min(len(all), i+limit)], nil
}

// own is what stands in .ctxfs itself.
func (c *control) own() []room.Info {
	all := []room.Info{c.f.ownDir(versionsDir)}
	if c.f.o.Views != nil {
		all = append(all, c.f.ownDir(viewsDir))
	}
	for name := range controlFiles {
		all = append(all, c.f.ownFile(name, 0))
	}
	for name := range c.f.o.Control {
		all = append(all, c.f.ownFile(name, 0))
	}
	return all
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
			all = append(all, c.f.versionInfo(v))
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
			all = append(all, c.f.ownDir(m.Key.Name()))
		}
		if len(metas) < page {
			return all, nil
		}
		after = metas[len(metas)-1].Key.Name()
	}
}

func (c *control) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	if rest, ok := c.view(path); ok {
		return c.f.o.Views.Read(ctx, rest, rev)
	}
	if content := c.file(path); content != nil {
		b, err := content()
		return bytesContent{bytes.NewReader(b)}, err
	}
	key, n, ok, err := c.version(ctx, path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, backing.ErrIsDir
	}
	return c.f.o.Store.OpenVersion(ctx, key, n)
}

// Readlink returns what a link in the views says.
func (c *control) Readlink(ctx context.Context, path string) (string, error) {
	if rest, ok := c.view(path); ok {
		return c.f.o.Views.Readlink(ctx, rest)
	}
	return "", syscall.EINVAL
}

// ownDir and ownFile describe what the mount itself shows.
func (f *FS) ownDir(name string) room.Info {
	return room.Info{Name: name, Kind: room.Dir, Mode: 0o555, ModTime: f.started, UID: f.uid, GID: f.gid, Volatile: true}
}

func (f *FS) ownFile(name string, size int64) room.Info {
	return room.Info{Name: name, Kind: room.Virtual, Size: size, Mode: 0o444, ModTime: f.started, UID: f.uid, GID: f.gid}
}

func (f *FS) versionInfo(v backing.Version) room.Info {
	return room.Info{Name: strconv.Itoa(v.N), Kind: room.Object, Size: v.Size, Mode: 0o444,
		ModTime: v.ModTime, UID: f.uid, GID: f.gid, Revision: v.Revision}
}

// bytesContent is content that lies in memory.
type bytesContent struct{ *bytes.Reader }

func (bytesContent) Close() error { return nil }

// readOnly refuses every change.
type readOnly struct{}

func (readOnly) Write(context.Context, room.Caller, string, room.Create) (room.File, room.Info, error) {
	return nil, room.Info{}, syscall.EROFS
}
func (readOnly) MakeDir(context.Context, room.Caller, string, fs.FileMode) (room.Info, error) {
	return room.Info{}, syscall.EROFS
}
func (readOnly) RemoveDir(context.Context, room.Caller, string) error { return syscall.EROFS }
func (readOnly) Remove(context.Context, room.Caller, string) error    { return syscall.EROFS }
func (readOnly) Rename(context.Context, room.Caller, string, string, uint) error {
	return syscall.EROFS
}
func (readOnly) SetAttr(context.Context, room.Caller, string, backing.AttrChange) (room.Info, error) {
	return room.Info{}, syscall.EROFS
}
func (readOnly) Symlink(context.Context, room.Caller, string, string) (room.Info, error) {
	return room.Info{}, syscall.EROFS
}
func (readOnly) Readlink(context.Context, string) (string, error) { return "", syscall.EINVAL }

// Watch has nothing to tell: what is here is asked for each time, or never
// changes.
func (readOnly) Watch(ctx context.Context, changed func(string, bool)) error {
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return ctx.Err()
}
