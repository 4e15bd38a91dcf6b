package access

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Write implements [Files].
func (m *Mount) Write(ctx context.Context, name string, content io.Reader, attrs map[string]string) error {
	return m.writing("write", name, os.O_TRUNC, func(f *os.File) error {
		for _, attr := range sortedNames(attrs) {
			if err := unix.Fsetxattr(int(f.Fd()), attr, []byte(attrs[attr]), 0); err != nil {
				return err
			}
		}
		return copyTo(f, content)
	})
}

// Append implements [Files]: one write(2), in one piece.
func (m *Mount) Append(ctx context.Context, name string, p []byte) error {
	return m.writing("append to", name, os.O_APPEND, func(f *os.File) error {
		_, err := f.Write(p)
		return err
	})
}

// writing calls do with the file at name, which it makes where it is missing,
// and its directory too.
func (m *Mount) writing(op, name string, flags int, do func(f *os.File) error) error {
	return m.at(op, name, func(top *os.Root, name string) error {
		f, err := top.OpenFile(name, os.O_WRONLY|os.O_CREATE|flags, 0o644)
		if errors.Is(err, fs.ErrNotExist) {
			if err = top.MkdirAll(path.Dir(name), 0o755); err == nil {
				f, err = top.OpenFile(name, os.O_WRONLY|os.O_CREATE|flags, 0o644)
			}
		}
		if err != nil {
			return err
		}
		return errors.Join(do(f), f.Close())
	})
}

// Remove implements [Files].
func (m *Mount) Remove(ctx context.Context, name string) error {
	return m.at("remove", name, func(top *os.Root, name string) error {
		info, err := top.Lstat(name)
		if err == nil && info.IsDir() {
			err = unix.EISDIR
		}
		if err != nil {
			return err
		}
		return top.Remove(name)
	})
}

// Rename implements [Files].
func (m *Mount) Rename(ctx context.Context, from, to string) error {
	target, err := key("rename", to)
	if err != nil {
		return err
	}
	return m.at("rename", from, func(top *os.Root, name string) error {
		return top.Rename(name, string(target))
	}, to)
}
