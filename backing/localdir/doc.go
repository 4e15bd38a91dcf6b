// Package localdir keeps a backing.Store in a directory of this machine, as
// plain files that are readable without ctxfs. It also implements
// backing.Files.
//
// # On disk
//
//	<key>                        the objects and directories
//	.ctxfs/lock                  flock(2)ed by the one writer; who it is, as JSON
//	.ctxfs/layout                version of this layout, "1\n"
//	.ctxfs/staging/<random>      content that is being put; emptied at Open
//	.ctxfs/versions/<key>/<n>    overwritten contents, 1 is the oldest
//
// Everything else below .ctxfs belongs to the rooms and is reached by keys.
//
// # Writing
//
// A put writes a staged file, syncs it, links the old content into versions,
// renames the staged file over the key and syncs the directories in between
// so that a crash at any instant leaves the old or the new content. A kept
// version is a hard link of the old file: it is not copied, and nothing can
// change it later, because the rename gave the key another inode.
//
// # Safety
//
// Keys are resolved below one open descriptor of the top directory; symbolic
// links are never followed, whoever put them there and when. Fifos, devices
// and sockets are never read or written. Modes never carry suid, sgid or
// sticky bits.
//
// # Locks
//
// In this order: the store's life (Close waits for running calls), an
// upload, the stripe of a key, then the small mutexes of caches, which are
// never held across a system call that waits for the disk.
//
// # Limits
//
// A key that was an object with versions and is a directory now cannot keep
// versions of a member whose name is a number. The file system must have hard
// links. A revision is made of inode number, times and size, so an edit in
// place by another program that leaves size and modification time alone is
// not noticed.
package localdir
