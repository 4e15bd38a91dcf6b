package room

import (
	"context"

	"ctxfs/backing"
)

// ErrWithdrawn is what [Tentative.CommitIf] returns where its caller was not
// sure.
var ErrWithdrawn = backing.ErrWithdrawn

// Tentative is the optional capability of a [Draft] whose commit can be
// prepared while its caller still finds out whether it shall happen.
type Tentative interface {
	// CommitIf is Commit, but asks sure before anything can be seen of it,
	// perhaps more than once. Where it says no, nothing has happened, and
	// the error wraps ErrWithdrawn. What the content is refused for is
	// returned without asking.
	CommitIf(ctx context.Context, sure func() bool) error
}

// Viewer is the optional capability of a room in which some paths look
// different to each caller. What they lead to must be Volatile.
type Viewer interface {
	// PerCaller reports whether path is such a one.
	PerCaller(path string) bool
	// For returns the room as c sees it. It is cheap, and holds nothing.
	For(c Caller) Room
}

// Xattrs is the optional capability of a room whose files have extended
// attributes. Names are whole, with "user.". Errors are ENODATA for an
// attribute that a file has not, ENOTSUP for one that the room knows nothing
// of, EPERM for one that cannot be set, and those of [Room].
type Xattrs interface {
	ListXattr(ctx context.Context, path string) ([]string, error)
	GetXattr(ctx context.Context, path, attr string) ([]byte, error)
	SetXattr(ctx context.Context, c Caller, path, attr string, value []byte) error
	RemoveXattr(ctx context.Context, c Caller, path, attr string) error
}

// Appender is the optional capability of a backing.File that grows at its end
// only, whatever the kernel believes to be the end: others append too, and
// what is stored of a line may be more than was written of it.
type Appender interface {
	Append(p []byte) (int, error)
}

// Flusher is the optional capability of a backing.File that holds back the end
// of what was written, an unfinished line. Flush is called when a descriptor
// is closed; its error reaches the program.
type Flusher interface {
	Flush() error
}

// Keeper is the optional capability of a room that keeps what is overwritten:
// its Read finds every revision that was committed through it, so that the
// content of an open file need not be opened before it is read. The content of
// other rooms is opened at once.
type Keeper interface {
	KeepsVersions()
}
