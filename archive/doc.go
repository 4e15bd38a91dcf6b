// Package archive keeps what housekeeping takes out of a store: compressed tar
// files below .ctxfs/archives of the store itself.
//
// # What is in one
//
// A tar file (PAX), compressed with zstd, that `tar --zstd -tf` reads. Its
// members have the paths that they had in the store, from its top: files, the
// directories that held them, and versions as .ctxfs/versions/<path>/<n>. Mode,
// owner and time are those of the file.
//
// # When it exists
//
// [Create] puts an archive as one object of the store, so that it is there
// whole and on disk, or not at all: what a crash leaves of one is staged
// content, which the next opening of the store removes. Before Create returns
// it reads the archive again and compares each member with what was added, by
// SHA-256. An archive that fails that is removed.
//
// # What it must not know
//
// Which files are old, what they mean, who removes them.
//
// All functions are safe for concurrent use, by several hosts too.
package archive
