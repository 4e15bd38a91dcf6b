// Package joined makes one backing.Store of two: one that other hosts write
// too, and a directory of this host beside it. It is what rooms see of a
// database: there the entries, the variables, the histories that all hosts
// share; here what belongs to one host, and what needs a file system (editors'
// swap files, the temporary files of sed -i, results of sessions, what a crash
// of this host leaves half done). It implements backing.Files.
//
// # Which is where
//
// A function says the [Side] of each key. Directories of the shared store are
// made again in the local one when the first local file lies in them, and
// their listings are one. Where a local file would have the key of something
// that the shared store has already, that one is meant.
//
// # Files in place
//
// An ordinary file of the local side is one. Of the shared side an open file
// is made of the store's own calls: a write at the end is an append, any other
// change puts the whole content anew, and each read is one of the newest
// content. It has no descriptor. A rename from one side to the other is a put
// and a removal, so that after a crash both may be there.
//
// # What it must not know
//
// Which keys mean what: its caller's function knows. What kind of store the
// shared one is.
package joined
