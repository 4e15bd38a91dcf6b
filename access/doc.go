// Package access is how programs other than the daemon reach a store: the
// commands and the MCP server. A store is written by one process at a time.
// Where a daemon serves it, its files are reached below the mountpoint
// ([Mount]); otherwise this process opens the store itself, with its rooms,
// and does the same operations on them ([Store]). Both are [Files].
//
// What is more than a file operation (parsing a ref, selecting invocations,
// naming a result) is not here but in the rooms' packages, on content read
// through Files.
//
// # Paths
//
// A path is relative to the top of the mount, as "vars/global/dataset": no
// leading slash, no "." or "..". In a Mount a symbolic link that leads out of
// the mount is not followed.
//
// # Errors
//
// What is missing is fs.ErrNotExist. What a rule refuses is a *codec.Refusal:
// a Mount only gets an errno from the kernel, and looks up the reason in
// .ctxfs/errors. A store that another process writes is a
// *localdir.LockedError.
//
// # The caller
//
// A Store acts as the [room.Caller] that it was given. Through a Mount the
// daemon takes agent and session from the environment that this process was
// started with, so there vars/self is that of the environment; a program that
// acts for others names their scopes, as variables.Scopes says.
//
// # Concurrency
//
// Everything exported is safe for concurrent use, but for one [File] being
// read by Read and closed.
package access
