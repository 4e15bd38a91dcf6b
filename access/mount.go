package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Mount is the files of a store as a daemon serves them. It holds nothing
// open between calls, so that it hinders no unmounting and survives a
// remount.
type Mount struct {
	point string
	now   func() time.Time
}

var _ Files = (*Mount)(nil)

// NewMount returns the files below point, where a ctxfs mount is. now is the
// clock; nil is time.Now.
func NewMount(point string, now func() time.Time) *Mount {
	if now == nil {
		now = time.Now
	}
	return &Mount{point: point, now: now}
}

// Close implements [Files]: nothing is held.
func (m *Mount) Close() error { return nil }

// at calls do with the top of the mount and path in it, and explains the
// error, which may be a refusal of another path too.
func (m *Mount) at(op, path string, do func(top *os.Root, name string) error, others ...string) error {
	k, err := key(op, path)
	if err != nil {
		return err
	}
	began := m.now()
	top, err := m.top()
	if err != nil {
		return err
	}
	defer top.Close()
	name := string(k)
	if name == "" {
		name = "."
	}
	if err := do(top, name); err != nil {
		return m.explain(top, began, named(op, path, cause(err)), append(others, path)...)
	}
	return nil
}

// cause leaves out what a *fs.PathError says of operation and path: of a file
// below the mountpoint it says them as os names them.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// top opens the mountpoint, if the mount is there: the directory under it
// must not be taken for the store.
func (m *Mount) top() (*os.Root, error) {
	top, err := os.OpenRoot(m.point)
	if err != nil {
		return nil, fmt.Errorf("open the mount: %w", err)
	}
	if _, err := top.Lstat(backing.Own + "/version"); err != nil {
		return nil, errors.Join(fmt.Errorf("the mount at %s is gone: %w", m.point, err), top.Close())
	}
	return top, nil
}

// mountFile is a file of the mount.
type mountFile struct {
	*os.File
	size int64
}

func (f mountFile) Size() int64 { return f.size }

// Open implements [Files].
func (m *Mount) Open(ctx context.Context, path string) (File, error) {
	var opened mountFile
	err := m.at("open", path, func(top *os.Root, name string) error {
		f, err := top.Open(name)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = backing.ErrIsDir
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
		opened = mountFile{f, info.Size()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// Stat implements [Files].
func (m *Mount) Stat(ctx context.Context, path string) (Info, error) {
	var info Info
	err := m.at("stat", path, func(top *os.Root, name string) error {
		i, err := top.Lstat(name)
		if err == nil {
			info = infoOf(i)
		}
		return err
	})
	return info, err
}

func infoOf(i fs.FileInfo) Info {
	return Info{Name: i.Name(), Dir: i.IsDir(), Size: i.Size(), ModTime: i.ModTime()}
}

// List implements [Files].
func (m *Mount) List(ctx context.Context, dir string) ([]Info, error) {
	var all []Info
	err := m.at("list", dir, func(top *os.Root, name string) error {
		f, err := top.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		// What vanishes meanwhile is left out.
		infos, err := f.Readdir(-1)
		for _, i := range infos {
			all = append(all, infoOf(i))
		}
		return err
	})
	sortInfos(all)
	return all, err
}

// GetXattr implements [Files].
func (m *Mount) GetXattr(ctx context.Context, path, attr string) ([]byte, error) {
	value := make([]byte, 64<<10) // the most that Linux allows
	err := m.opened("getxattr", path, os.O_RDONLY, func(f *os.File) error {
		n, err := unix.Fgetxattr(int(f.Fd()), attr, value)
		value = value[:max(n, 0)]
		return err
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

// SetXattr implements [Files].
func (m *Mount) SetXattr(ctx context.Context, path, attr string, value []byte) error {
	return m.opened("setxattr", path, os.O_RDONLY, func(f *os.File) error {
		return unix.Fsetxattr(int(f.Fd()), attr, value, 0)
	})
}

// opened calls do with the file at path and closes it.
func (m *Mount) opened(op, path string, flags int, do func(f *os.File) error) error {
	return m.at(op, path, func(top *os.Root, name string) error {
		f, err := top.OpenFile(name, flags, 0o644)
		if err != nil {
			return err
		}
		return errors.Join(do(f), f.Close())
	})
}

// Sync implements [Files]. The file is opened as a writer opens it, because
// an fsync of a reader's descriptor has nothing to wait for.
func (m *Mount) Sync(ctx context.Context, path string) error {
	return m.opened("sync", path, os.O_WRONLY, (*os.File).Sync)
}

// copyTo copies content to f in pieces of at least a few requests' length.
func copyTo(f io.Writer, content io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{content}, make([]byte, copyStep))
	return err
}

// copyStep is how much is written at a time, in bytes: what one request of
// the kernel holds.
const copyStep = 1 << 20
