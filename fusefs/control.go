package fusefs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	c room.Caller // whose refusals errors shows, see For
}

var _ room.Viewer = (*control)(nil)

// controlFiles are made when they are opened.
var controlFiles = map[string]func(*FS) ([]byte, error){
	"version": func(f *FS) ([]byte, error) { return []byte(f.o.Version + "\n"), nil },
	"stats":   (*FS).statsFile,
}

const (
	versionsDir = "versions"
	viewsDir    = "views"
	errorsFile  = "errors"
)

// PerCaller implements [room.Viewer].
func (c *control) PerCaller(path string) bool { return path == errorsFile }

// For implements [room.Viewer]: where several users are served, each sees the
// refusals that it was told itself, the owner of the mount and root see all.
func (c *control) For(by room.Caller) room.Room { return &control{f: c.f, c: by} }

func (c *control) errors() ([]byte, error) {
	if c.f.shared(c.c) {
		return c.f.o.Journal.LastOf(c.c.UID), nil
	}
	return c.f.o.Journal.Last(), nil
}

// shared reports whether by is another user than the mount's own.
func (f *FS) shared(by room.Caller) bool {
	return f.o.AllowOther && by.UID != 0 && by.UID != f.uid
}

// file is what makes the content of a file in .ctxfs, nil where there is none.
func (c *control) file(name string) func() ([]byte, error) {
	if name == errorsFile {
		return c.errors
	}
	if own := controlFiles[name]; own != nil {
		return func() ([]byte, error) { return own(c.f) }
	}
	if c.f.o.Work[name] != nil {
		return func() ([]byte, error) { return fmt.Appendf(nil, workUsage, name), nil }
	}
	return c.f.o.Control[name]
}

// fileInfo describes a file in .ctxfs; those of works are for the owner.
func (c *control) fileInfo(name string) room.Info {
	info := c.f.ownFile(name, 0)
	if c.f.o.Work[name] != nil {
		info.Mode = 0o600
	}
	return info
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
	if path == viewsDir && c.f.o.Views != nil {
		return c.f.viewsTop(), nil
	}
	if rest, ok := c.view(path); ok {
		return c.f.o.Views.Stat(ctx, rest)
	}
	if c.file(path) != nil {
		return c.fileInfo(path), nil
	}
	return c.statVersion(ctx, path)
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
		all = append(all, c.f.viewsTop())
	}
	all = append(all, c.f.ownFile(errorsFile, 0))
	for name := range controlFiles {
		all = append(all, c.f.ownFile(name, 0))
	}
	for name := range c.f.o.Control {
		all = append(all, c.fileInfo(name))
	}
	for name := range c.f.o.Work {
		all = append(all, c.fileInfo(name))
	}
	return all
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

// viewsTop is closed to other users: the views name tags, types and sessions
// of every entry, whoever may read it.
func (f *FS) viewsTop() room.Info {
	info := f.ownDir(viewsDir)
	if f.o.AllowOther {
		info.Mode = 0o500
	}
	return info
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
