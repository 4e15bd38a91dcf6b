// Package transfer copies a whole store into another one, of whatever kinds
// the two are: objects with their bytes, times, modes and owners, directories,
// and the versions that are kept, under their numbers.
//
// # Unfinished copies
//
// The destination is empty when a copy begins. [Begin] marks it, with the
// name of the source, and [Finish] takes the mark away; in between nobody
// should open it for anything else ([ReadMark]). A copy that was interrupted is
// begun again and goes on where it was: what has the size, time and mode of the
// source's object already is not copied again.
//
// # What is checked
//
// [Run] goes through both stores until a pass that has read every byte of both
// finds nothing to do. So the source may be written to meanwhile: each object
// is then what it was at some moment of the last pass, and a source that does
// not come to rest is [ErrRestless]. What the destination has and the source
// does not (any more) is an error, or is removed where Options.Delete says so.
// Stores that keep contents on this host must be opened so that they do not.
//
// # Concurrency
//
// One Run uses up to Options.Workers calls of the stores at once, each with a
// buffer of at most 1 MiB. Nothing is held for the whole of a store.
//
// # What it must not know
//
// What objects mean, and which of them belong to the store: its caller says.
package transfer
