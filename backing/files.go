package backing

import (
	"context"
	"io"
	"io/fs"
)

// Files is the optional capability of a store that lies in a file system of
// this machine: ordinary files, changed in place, without revisions checked
// or versions kept. ctxfs uses it for what is not an entry: swap files,
// backups, attachments. Keys are those of [Store]; symbolic links on the way
// are never followed. Safe for concurrent use.
type Files interface {
	// OpenFile opens the regular file at key with the flags of open(2),
	// with the semantics of openat(2). Anything but a regular file is
	// ErrNotRegular or ErrIsDir.
	OpenFile(ctx context.Context, key Key, flags int, mode fs.FileMode) (File, error)
	// Rename renames a file or symbolic link, replacing what is at the
	// target. flags are those of renameat2(2): RENAME_NOREPLACE,
	// RENAME_EXCHANGE. It is durable when it returns.
	Rename(ctx context.Context, from, to Key, flags uint) error
	// Unlink removes a file or symbolic link.
	Unlink(ctx context.Context, key Key) error
	// Symlink makes a symbolic link that says target; nobody follows it.
	Symlink(ctx context.Context, target string, key Key) error
	// Readlink returns what the symbolic link at key says.
	Readlink(ctx context.Context, key Key) (string, error)
	// StatFS returns sizes of the file system, in blocks of BlockSize bytes.
	StatFS(ctx context.Context) (FSStat, error)
}

// Shared is the optional capability of a store that other hosts write at the
// same time. What looks like left by a crash there may be what another host is
// just doing, and what was read of it once may be old.
type Shared interface {
	// Shared does nothing.
	Shared()
}

// IsShared reports whether other hosts write s.
func IsShared(s Store) bool {
	_, ok := s.(Shared)
	return ok
}

// Versioned is the optional capability of a store that can be asked what it
// keeps versions of.
type Versioned interface {
	// Versioned calls f for each key that versions are kept of, whether there
	// is still an object or not, in no particular order, until f returns an
	// error, which it returns.
	Versioned(ctx context.Context, f func(Key) error) error
}

// Cached is the optional capability of a store that is far away and keeps on
// this host what it has read. It answers from there, as of the last change of
// another host that it has heard of: what others have committed within the last
// moments may be missing, what this process has committed never is. That is for
// showing what there is, not for deciding what to write. Who is told of a change
// by [Store.Watch] and looks then, sees it.
type Cached interface {
	// StatCached is [Store.Stat].
	StatCached(ctx context.Context, key Key) (Meta, error)
	// ListCached is [Store.List].
	ListCached(ctx context.Context, dir Key, after string, limit int) ([]Meta, error)
}

// StatCached is that of s where it is [Cached], else its Stat.
func StatCached(ctx context.Context, s Store, key Key) (Meta, error) {
	if c, ok := s.(Cached); ok {
		return c.StatCached(ctx, key)
	}
	return s.Stat(ctx, key)
}

// ListCached is that of s where it is [Cached], else its List.
func ListCached(ctx context.Context, s Store, dir Key, after string, limit int) ([]Meta, error) {
	if c, ok := s.(Cached); ok {
		return c.ListCached(ctx, dir, after, limit)
	}
	return s.List(ctx, dir, after, limit)
}

// File is an open ordinary file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Stat() (Meta, error)
	// Fd returns the descriptor, valid until Close: for fallocate, lseek,
	// copy_file_range and locks; NoDescriptor where the file lies in no file
	// system of this host.
	Fd() uintptr
}

// NoDescriptor is the Fd of a [File] that has none.
const NoDescriptor = ^uintptr(0)

// FSStat is the fill of a file system.
type FSStat struct {
	BlockSize               uint32 // bytes
	Blocks, Free, Available uint64 // of BlockSize
	Files, FreeFiles        uint64
	NameLen                 uint32
}
