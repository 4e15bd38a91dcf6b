// Package backing is the one contract between ctxfs and the place where its
// bytes live. [Store] is the contract, [Key], [Revision] and [Meta] its words;
// localdir keeps a store in a directory, postgres in a database, storetest
// holds what every implementation must pass.
//
// # What a store knows
//
// Objects under slash-separated keys, in directories, each with a revision.
// A put replaces a whole object atomically and durably: when it returns
// without an error the object is on disk, and after a crash at any instant
// it is its old or its new self. What an object means is nothing a store
// knows: no frontmatter, no variables, no kernel requests.
//
// # What a store must never assume
//
// That it is near. A put may end in [ErrUnknown]: the connection broke and
// nobody can say whether it happened; the operation id in [PutOptions] lets a
// retry recognise its own write. Revisions are opaque and compare only for
// equality. [Watch] gives hints, never the truth. No operation scans the
// whole store.
//
// # Optional capabilities
//
// A store that lies in a directory of this machine also implements [Files]:
// ordinary files with positions, modes and renames, for the scratch files
// that editors put beside entries. One that other hosts write too is [Shared];
// package joined puts a directory of this host beside it. One that is far away
// may be [Cached]. One that finds the keys of its versions is [Versioned].
package backing
