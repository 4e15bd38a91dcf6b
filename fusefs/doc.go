// Package fusefs is the mount: it turns requests of the kernel into calls of
// rooms, keeps the kernel's caches true, and knows errnos. Of frontmatter,
// changelogs and stores it knows nothing.
//
// # Nodes
//
// The kernel caches by node: pages, attributes, names. So every revision of
// an Object is a node of its own, and so is every draft: a reader keeps the
// pages of the version that it opened, whatever is committed meanwhile, and a
// writer sees its own draft through its descriptor while all others see the
// committed version. What programs compare, st_ino, is derived from the path
// and is the same for all of them. A commit changes which node a name leads
// to, and the kernel is told to forget the name (notify.go).
//
// Names and attributes of Objects and directories are good for hours, and
// dropped when something changes. Plain files, links and drafts are asked for
// each time.
//
// # Opening for writing
//
// The kernel has resolved the name to the node of the committed version when
// it asks to open. Two ways lead from there to a draft (divert.go):
//
//   - Nobody has the node open: it becomes the draft's node, and the kernel
//     is told to forget the name before the open is answered, so that the
//     next one to look it up finds the committed version under a new node.
//   - Somebody reads it: the open is answered ESTALE, upon which the kernel
//     resolves the path once more (LOOKUP_REVAL, in do_filp_open) on the same
//     thread; that thread's LOOKUP is given a node made for its draft.
//
// # When a draft is decided
//
// At FSYNC, at the FLUSH after which nobody holds the file (holders.go), and
// at RELEASE, whose result reaches nobody. Writes to drafts bypass the page
// cache (FOPEN_DIRECT_IO), so that each write(2) learns its own errors.
//
// # Locks and order
//
// tree.mu guards the tree of nodes and is never held across a call to a room
// or to the kernel; node.mu guards one node, and may be taken while tree.mu is
// held, never the reverse. Notifications to the kernel wait for locks that
// running requests hold: one on directory D is sent from a handler only where
// the kernel holds no lock of D during that request (OPEN, WRITE, FLUSH,
// FSYNC), from the notifier's goroutine otherwise.
//
// Looking at /proc/PID of a process that waits for us may block: an exec
// closes descriptors under the lock that /proc takes. Each look is bounded
// in time (procfs.go), and no answer counts as "still holds it".
package fusefs
