package room

import (
	"context"
	"io"
	"io/fs"
	"os"
	"time"

	"ctxfs/backing"
)

// Kind says what stands under a name.
type Kind int

const (
	Dir Kind = iota
	Object
	Plain
	Link
	Virtual
)

// Info describes a name in a room.
type Info struct {
	Name     string
	Kind     Kind
	Size     int64 // bytes
	ModTime  time.Time
	Mode     fs.FileMode // permission bits
	UID, GID uint32
	Revision backing.Revision // of an Object; equal means equal content and metadata
	// Number is that of a Dir or Plain file in the store, 0 where it has none:
	// st_ino, which stays through a rename and does not change while it lives.
	Number   uint64
	Volatile bool // changes without an announcement through Watch
	Lines    bool // of a Plain file that opens as an [Appender] and keeps its name: many add to it at once
}

// Own gives what a room makes itself to the user that the daemon runs as.
func (i Info) Own() Info {
	i.UID, i.GID = uint32(os.Getuid()), uint32(os.Getgid())
	return i
}

// Caller is the process behind a request, as far as a room may know it. The
// names are labels that anybody can choose, no authentication.
type Caller struct {
	PID     uint32 // of the thread that asks; 0 where there is none
	UID     uint32
	GID     uint32
	Agent   string // cleaned; who writes the changelog line
	Session string // SFA_SESSION_ID, cleaned; may be empty
}

// Create says how a file that may not exist yet is opened for writing.
type Create struct {
	New       bool        // make it if it is missing
	Exclusive bool        // ErrExists if it is there
	Mode      fs.FileMode // permission bits of a new one
	Flags     int         // of open(2), for a Plain file
}

// Room is a part of the mount. All methods are safe for concurrent use.
type Room interface {
	// Stat describes path; backing.ErrNotFound.
	Stat(ctx context.Context, path string) (Info, error)

	// List returns at most limit members of dir with names greater than
	// after, in the order of their bytes. Fewer than limit means no more.
	List(ctx context.Context, dir, after string, limit int) ([]Info, error)

	// Read opens the content of an Object or Virtual at revision rev, which
	// came from an Info of the same path. An empty rev is the current one.
	// backing.ErrNotFound where that revision is kept nowhere.
	Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error)

	// Write opens path for writing, and perhaps makes it: a [Draft] for an
	// Object, otherwise a backing.File in place. A name that the room does
	// not take is refused here.
	Write(ctx context.Context, c Caller, path string, o Create) (File, Info, error)

	// MakeDir makes a directory.
	MakeDir(ctx context.Context, c Caller, path string, mode fs.FileMode) (Info, error)
	// RemoveDir removes an empty directory.
	RemoveDir(ctx context.Context, c Caller, path string) error
	// Remove removes a file or link, where the room allows it.
	Remove(ctx context.Context, c Caller, path string) error
	// Rename moves from to to; flags are those of renameat2(2).
	Rename(ctx context.Context, c Caller, from, to string, flags uint) error
	// SetAttr changes metadata, not content.
	SetAttr(ctx context.Context, c Caller, path string, a backing.AttrChange) (Info, error)
	// Symlink makes a symbolic link, where the room allows it.
	Symlink(ctx context.Context, c Caller, target, path string) (Info, error)
	// Readlink returns what a Link says.
	Readlink(ctx context.Context, path string) (string, error)

	// Watch calls changed for every path below which something may have
	// become different without the caller of a request having asked for
	// just that: a commit, a `.rej` that appeared, an edit of the store by
	// another program. deep means everything below path too. It returns
	// when ctx ends. changed must not call back into the room.
	Watch(ctx context.Context, changed func(path string, deep bool)) error
}

// File is what Write opens: a backing.File or a Draft.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// Draft is the private next content of one Object, from an open for writing
// to the last close. Its content begins as that of the object, or empty.
//
// WriteAt refuses at once what can no longer become valid. Sync commits, and
// returns when what was committed is durable, where Commit alone is not that;
// Close drops what was never
// committed, and keeps a refused draft in the room's way. Safe for concurrent
// use; commits of one path are serialised.
type Draft interface {
	File
	// By names the writer; who called first wins, later calls change nothing.
	By(c Caller)
	// Size is that of the draft, in bytes.
	Size() int64
	// Changed reports whether something was written since the last commit.
	Changed() bool
	// Append adds p at the end of the draft, for handles opened with
	// O_APPEND.
	Append(p []byte) (int, error)
	// Commit publishes the draft. Without a change since the last commit it
	// does nothing. A further Commit of the same draft amends the first.
	Commit(ctx context.Context) error
	// Refuse records that this draft's refusal err was told to somebody: it
	// leaves the refused content and the explanation where the room keeps
	// them. Commit never does so itself, because a close that is not the
	// last one may still be followed by the rest.
	Refuse(ctx context.Context, err error)
	// SetAttr changes what the commit will store: the mode, the time. A
	// committed draft passes the change on to its object.
	SetAttr(ctx context.Context, a backing.AttrChange) error
	// Info describes the draft as a file: its size, time, mode. After a
	// Commit without a later change it carries the object's Revision.
	Info() Info
}
