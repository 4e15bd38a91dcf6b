package backing

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

// Revision identifies one content and metadata of one object. It is opaque:
// two are equal or not, and nothing else. The empty revision stands for
// "whichever is current".
type Revision string

// Absent is the condition "there is no such object", for [PutOptions].If.
const Absent Revision = "absent"

// Meta is what a store says of an object or directory without reading it.
type Meta struct {
	Key      Key
	Dir      bool
	Link     bool        // a symbolic link; only stores with Files have them
	Special  bool        // neither file, directory nor link: a fifo, a device
	Size     int64       // bytes
	ModTime  time.Time   // of the content
	Mode     fs.FileMode // permission bits
	UID, GID uint32
	Revision Revision
	Number   uint64 // of the file in the store's file system, where it lies in one; else 0
}

// The errors of a store. Everything else it returns is a fault of the medium
// (a full disk, a broken connection) and wraps the cause.
var (
	ErrNotFound    = fs.ErrNotExist
	ErrExists      = fs.ErrExist
	ErrConflict    = errors.New("the object has another revision than the caller expected")
	ErrUnknown     = errors.New("nobody can say whether the write happened")
	ErrBadKey      = errors.New("not a key")
	ErrNameTooLong = errors.New("name too long")
	ErrNotEmpty    = errors.New("directory not empty")
	ErrNotDir      = errors.New("not a directory")
	ErrIsDir       = errors.New("is a directory")
	ErrNotRegular  = errors.New("neither a regular file nor a directory")
	ErrReadOnly    = errors.New("the store is read-only")
	ErrWithdrawn   = errors.New("the caller withdrew the write")
)

// Content is an object's bytes at one revision. It stays readable, and stays
// the same, whatever happens to the object. Safe for concurrent use.
type Content interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// Upload is a place outside memory to put together the content of a later
// put: sparse, readable and writable at any position. It is gone when closed,
// and after a crash. Safe for concurrent use.
type Upload interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Size() int64 // bytes
}

// PutOptions says under which conditions and with what a put happens.
type PutOptions struct {
	// If is the revision that must be current: a Revision, [Absent], or
	// empty for any. Where it is not met the put is [ErrConflict], or
	// [ErrExists] for Absent.
	If Revision
	// Op identifies this write, at most 64 bytes of [0-9a-zA-Z-]. A put
	// with the Op of the object's current content changes nothing and
	// returns its Meta: the retry of a write that had happened.
	Op string
	// KeepVersion keeps the replaced content as the next version.
	KeepVersion bool
	// Mode is the permission bits; 0 keeps those of the replaced object,
	// 0o644 for a new one.
	Mode fs.FileMode
	// ModTime is the content's time; zero is now.
	ModTime time.Time
	// Sure, where it is not nil, is asked when all is prepared and nothing
	// has happened yet, perhaps more than once. Where it says no, nothing
	// happens, and the put is [ErrWithdrawn].
	Sure func() bool
}

// AttrChange is a change of metadata; nil fields stay as they are.
type AttrChange struct {
	Mode     *fs.FileMode
	ModTime  *time.Time
	UID, GID *uint32
}

// Version describes one overwritten content of an object.
type Version struct {
	N        int // 1 is the oldest
	Size     int64
	ModTime  time.Time
	Mode     fs.FileMode // permission bits that it had, and whose it was
	UID, GID uint32
	Revision Revision // the one it had while it was current
}

// Removal is an object, versions of it, or a directory that [Store.Discard]
// shall remove.
type Removal struct {
	Key Key
	// Object is the revision that the object must have to be removed; empty
	// leaves the object where it is.
	Object Revision
	// Versions are removed where they still have the revision and number.
	Versions []Version
	// Dir says that Key is a directory, which must be empty by its turn.
	Dir bool
}

// EventKind says what an [Event] is about.
type EventKind int

const (
	// Changed: the object or directory at Key is not, or may not be, what
	// it was; it may be gone.
	Changed EventKind = iota
	// Resync: events were lost. Everything may have changed.
	Resync
)

// Event is a hint that something changed, by whomever. Hints may be
// coalesced, may come late or twice, and also report the store's own writes.
type Event struct {
	Kind  EventKind
	Key   Key
	Token string // to resume after this event, see [Store.Watch]
}

// Store is where bytes live. All methods are safe for concurrent use. A
// method given a cancelled context may return early; a put that does so is
// [ErrUnknown] unless it certainly did not happen.
type Store interface {
	// Stat describes the object or directory at key; ErrNotFound.
	Stat(ctx context.Context, key Key) (Meta, error)

	// List returns at most limit members of the directory dir whose names
	// are greater than after, in order of their bytes, with metadata. Fewer
	// than limit means there are no more. ErrNotFound, ErrNotDir. [Own] is
	// never among them.
	List(ctx context.Context, dir Key, after string, limit int) ([]Meta, error)

	// Open returns the content of key at revision rev: the current one or a
	// kept version. ErrNotFound where there is neither.
	Open(ctx context.Context, key Key, rev Revision) (Content, error)

	// Put replaces the object at key by the bytes of r, atomically and
	// durably. r may be an [Upload] of this store, which it then consumes
	// without copying where it can. The directory must exist. See
	// PutOptions for ErrConflict and ErrExists; ErrUnknown.
	Put(ctx context.Context, key Key, r io.Reader, o PutOptions) (Meta, error)

	// NewUpload returns an empty upload.
	NewUpload(ctx context.Context) (Upload, error)

	// Append adds data at the end of the object at key, in one piece that
	// no other append interleaves, and creates the object where it is
	// missing. It is durable only after Sync.
	Append(ctx context.Context, key Key, data []byte) (Meta, error)

	// Sync makes every append to key that returned before durable.
	Sync(ctx context.Context, key Key) error

	// SetAttr changes metadata; the content's bytes stay, the revision may
	// change.
	SetAttr(ctx context.Context, key Key, c AttrChange) (Meta, error)

	// Remove removes the object at key, durably; ErrNotFound, ErrIsDir,
	// ErrUnknown. If rev is not empty it must be current, else ErrConflict.
	// Its versions stay.
	Remove(ctx context.Context, key Key, rev Revision) error

	// MakeDir makes a directory, durably, in an existing one; ErrExists.
	MakeDir(ctx context.Context, key Key, mode fs.FileMode) (Meta, error)

	// RemoveDir removes an empty directory; ErrNotEmpty, ErrUnknown.
	RemoveDir(ctx context.Context, key Key) error

	// Versions lists the kept versions of key, oldest first; none is no
	// error.
	Versions(ctx context.Context, key Key) ([]Version, error)

	// StatVersion describes version n of key, and does not look at the others;
	// ErrNotFound.
	StatVersion(ctx context.Context, key Key, n int) (Version, error)

	// OpenVersion returns the content of version n; ErrNotFound.
	OpenVersion(ctx context.Context, key Key, n int) (Content, error)

	// RestoreVersion puts back version v.N of key, which may be without an
	// object, with the bytes of r and the time and mode of v, durably; a mode
	// of 0 is 0o644. It belongs to whom v says where this process may give
	// files away. ErrExists where there is a version of that number.
	RestoreVersion(ctx context.Context, key Key, v Version, r io.Reader) error

	// Discard removes many things, one after the other, and returns an error, or
	// nil, for each of list in its order. An object of another revision is
	// ErrConflict, and then its versions stay too; a missing one is
	// ErrNotFound; a directory with something in it is ErrNotEmpty. The
	// removal of objects and directories is durable when it returns, that of
	// versions later. Of each Removal the versions go before the object, so
	// that a crash leaves none without its object. Cancelling ctx leaves the
	// rest of the list as it is.
	Discard(ctx context.Context, list []Removal) []error

	// Watch reports changes until ctx ends, then closes the channel. A
	// token of an earlier event resumes after it, or brings a Resync where
	// the store cannot. At least what was listed or statted since the start
	// is watched. The channel must be read.
	Watch(ctx context.Context, token string) (<-chan Event, error)

	// ReadOnly reports whether every write will be ErrReadOnly.
	ReadOnly() bool

	// Close ends the store's work and gives up its lock. Contents that are
	// open stay readable.
	Close() error
}
