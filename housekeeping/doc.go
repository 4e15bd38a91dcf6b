// Package housekeeping is `ctxfs gc`: it archives what is older than it has to
// be kept and removes it from the store, and brings it back from an archive.
// What is old and what must stay, the rooms say (entries.Aged, results.Ended);
// how archives are kept, package archive.
//
// # Order
//
// All that goes is archived first, in one archive, which is read again and
// compared before anything is removed. Each file is then removed only if it
// still has the revision that was archived. A crash at any instant leaves each
// file in the store, or in a whole archive, or in both; doing it again ends it.
//
// Results of sessions that have ended are not archived: they are not meant to
// outlive their session (reference/2).
//
// # Where it runs
//
// Where the store is open for writing: in the daemon, or in a process that has
// the store's lock itself. [Keeper.Do] takes a [Request] and answers with
// [Event]s, both JSON, so that one can ask the other.
package housekeeping
