// Package postgres keeps a backing.Store in a PostgreSQL database, for many
// hosts at once. Every host opens the same database and schema; none of them
// is special, and none holds a lock between two calls.
//
// # In the database
//
//	ctxfs_objects   one row for each object and directory, by (directory, name)
//	ctxfs_versions  overwritten contents, by (directory, name, number)
//	ctxfs_chunks    the bytes, by (body, offset); a body is one content
//	ctxfs_loose     large bodies that nothing has: on their way in, or replaced
//	ctxfs_changes   one row for each write: what watchers read
//	ctxfs_trimmed   how far old changes were removed
//	ctxfs_schema    versions of this schema that were reached
//
// Their columns are described in schema/1.sql. Names are bytea, so that their
// order is that of their bytes and any name will do.
//
// # Writing
//
// A put is one statement: it checks the condition, writes the object and its
// bytes, moves what was there to the versions and adds a change. Two writers
// of one key meet at the row, and one finds its condition not met. Contents of
// more than 256 KiB come before that as chunks of a loose body, which the
// statement takes over; what a crash leaves of them goes after an hour.
//
// Every write has an id, which is the key of its change. Where a connection
// breaks in the middle of a commit, a fence is put in the change's place: if it
// gets in, the write did not happen and never will, and it is tried again; if
// it does not, the write happened, exactly once. backing.ErrUnknown comes only
// where the database cannot be reached for that either; the next try of that
// operation asks again first.
//
// # Reading
//
// A small content is fetched by the statement that opens it. A large one is
// read in chunks, of which one is in memory. Bytes that were replaced stay for
// an hour, and for as long as a Content is open on them.
//
// What was read is kept in package cache. Contents are found there by their
// revision. Stat and List go to the database; StatCached and ListCached answer
// from listings, as long as changes are heard of. Each write, and each change
// that comes by, marks its key before watchers are told, see write and poll.
//
// # Watching
//
// One connection asks for new changes every Options.Poll; see changes.go for
// how nothing is missed. After a lost connection it goes on where it was.
//
// # Locks
//
// In the database: an advisory lock each for whoever changes the schema, for
// whoever sweeps, and for who uses the store, see use.go. In the process:
// the store's life (Close waits for running calls), then the small mutexes of
// the feed, of the cache, of contents and uploads. None is held across a round
// trip but a content's own.
//
// # Limits
//
// A key has at most 2,048 bytes. A directory's ModTime does not follow its
// members: every creation in it would wait for the one before. Times lie
// between 1678 and 2262. Objects belong to the user and group numbers of the
// host that makes them. There is no backing.Files: ordinary files that are
// changed in place need a directory.
package postgres
