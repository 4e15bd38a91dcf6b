package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
)

// Info describes a file or directory.
type Info struct {
	Name    string
	Dir     bool
	Size    int64 // bytes; 0 for what is made when it is read
	ModTime time.Time
}

// File is a file that is read: from its beginning, or anywhere. It stays at
// the version that was opened.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
	// Size is that of the version, in bytes; 0 for what is made when it is
	// read (.ref, .summary, .list), which is read to its end.
	Size() int64
}

// Files are the files of one store.
type Files interface {
	// Open opens a file for reading; fs.ErrNotExist.
	Open(ctx context.Context, path string) (File, error)
	// Write makes content the whole of the file, which it makes where it is
	// missing, its directory too. It is as durable as a close(2) of that
	// file makes it. attrs are extended attributes that hold from then on.
	// Where reading content fails, what was read until then may have been
	// written.
	Write(ctx context.Context, path string, content io.Reader, attrs map[string]string) error
	// Append adds p at the end, in one piece. It makes the file, and its
	// directory, where they are missing.
	Append(ctx context.Context, path string, p []byte) error
	// List returns what is in a directory, ordered by name. It reads no
	// content. fs.ErrNotExist.
	List(ctx context.Context, dir string) ([]Info, error)
	// Stat describes a file or directory; fs.ErrNotExist.
	Stat(ctx context.Context, path string) (Info, error)
	// Remove removes a file; fs.ErrNotExist.
	Remove(ctx context.Context, path string) error
	// Rename moves a file, over what is there.
	Rename(ctx context.Context, from, to string) error
	// GetXattr returns an extended attribute, by its whole name.
	GetXattr(ctx context.Context, path, attr string) ([]byte, error)
	// SetXattr sets one.
	SetXattr(ctx context.Context, path, attr string, value []byte) error
	// Sync is fsync(2): what was written and not durable yet is when it
	// returns.
	Sync(ctx context.Context, path string) error
	// Close ends the access. Files that are open stay readable.
	Close() error
}

// key checks a path.
func key(op, path string) (backing.Key, error) {
	k, err := backing.ParseKey(path)
	if err != nil {
		return "", &fs.PathError{Op: op, Path: path, Err: err}
	}
	return k, nil
}

// named says what was done to which file, where the error does not.
func named(op, path string, err error) error {
	var refusal *codec.Refusal
	switch {
	case err == nil || errors.As(err, &refusal) && refusal.Path != "":
		return err
	case errors.Is(err, fs.ErrNotExist):
		err = syscall.ENOENT // whatever the store looked for
	}
	return fmt.Errorf("%s %s: %w", op, path, err)
}

func sortedNames(attrs map[string]string) []string { return slices.Sorted(maps.Keys(attrs)) }

func sortInfos(all []Info) {
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
}

// ReadAll returns the whole content of a small file.
func ReadAll(ctx context.Context, f Files, path string) ([]byte, error) {
	c, err := f.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(c)
	return text, named("read", path, errors.Join(err, c.Close()))
}
