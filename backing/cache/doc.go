// Package cache is what a store that is far away keeps on this host of what it
// has read: [Listings] of directories in memory, [Contents] in a file without a
// name. Both are bounded, and both are empty at the next start.
//
// # What may be kept
//
// A content never changes under its revision, so what is kept under it is right
// for ever. What stands under a name does change, and the store hears of that:
// it must mark each key of which it hears, and each that it is about to write,
// before anybody else is told of it. What was read of a key counts only where
// the key was not marked since the reading began. So nothing is served that is
// older than the last change that was heard of.
//
// # What it must not know
//
// Where the store is, how changes are heard of, what a key means. Whether they
// are heard of in time is the store's to say: what is kept here is no reason to
// answer while the database is out of reach.
package cache
