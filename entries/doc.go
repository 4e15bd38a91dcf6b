// Package entries is the room of agents' directories: everything at the top
// of the mount but the reserved names. An entry is a markdown file named
// <timestamp>-<slug>.md in an agent's directory or in the directory of one of
// its sessions; whatever else lies there is an ordinary file.
//
// # One way for an entry
//
// A writer gets a draft of its own ([Entries.Write]). Its commit validates
// the whole content, fills in what the file system knows, merges it with the
// version it replaces and puts it into the store, durably; readers see the old
// version until then. A temporary file renamed onto an entry's name goes the
// same way. What is refused stays as `<name>.md.rej` beside the entry, and the
// reason goes to the journal of refusals.
//
// # Three states besides "in the store"
//
//   - pending: an empty new file. It exists in memory only.
//   - hidden: an entry that an editor renamed to a backup name. It stays in
//     the store, and shows again when a new version is begun, when the backup
//     comes back, when the renaming process has ended, or after [DanceTime].
//   - amended: a further commit of one draft replaces the draft's own last
//     version, so that one open gives one version and one changelog line.
//
// # Concurrency
//
// Commits of one path are serialised by a lock of that path. Looking (Stat,
// List, Read) takes no lock that is held during a call to the store. Locks are
// taken in this order: draft.commit, the lock of a path, draft.mu, Entries.mu;
// no one holds the locks of two paths, but Discard those of the directories
// that it removes.
//
// # What it must not know
//
// Kernel requests, who a process is, when a close is the last one: fusefs
// decides those. Other rooms.
package entries
