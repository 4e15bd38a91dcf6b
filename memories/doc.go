// Package memories keeps context documents and entries of memories
// (reference/3): a Go library ([Memories.PutContext], [Memories.GetContext],
// [Memories.AddEntry], [Memories.AwaitConsistency]) and a room.Room, so that
// every memory is also a directory.
//
// # Files
//
// A memory lies in memories/<memory>/ in the store, or in Options.Dir/<memory>/
// ($CONTEXT_DATA_DIR), in plain files:
//
//   - context.md: the context document, raw text.
//   - context.json: its snapshot, {"activeContext":"<text>"}. Bytes that are
//     not UTF-8 are U+FFFD in it. Missing or malformed (no JSON object with a
//     string activeContext), it is initialised with an empty activeContext by
//     the next AddEntry.
//   - entries.jsonl: the entries, one JSON object a line: what was written,
//     then "id" and "timestamp" where they were missing, then "context", the
//     snapshot of that moment.
//
// # Consistency
//
// PutContext returns when its text has a place in the queue, and GetContext
// gives it from then on. A worker writes it as the reference says: path.tmp,
// fsync, rename, fsync of the directory; the document first, its snapshot
// right after, and the next start finishes what a crash left between the two.
// AwaitConsistency returns when all of that is done. What was queued and not
// written is lost when the process is killed: that is what AwaitConsistency
// is for.
//
// AddEntry stands in the same queue, so it carries every context that was put
// before it. It returns when its line is in entries.jsonl and in the outbox,
// fsynced.
//
// # The queue
//
// A [ShardExecutor] runs the jobs of one memory in order, those of others side
// by side on Shards workers. A queue holds Queue jobs; when it is full the
// next one waits for EnqueueTimeout and is then turned away with EAGAIN. A job
// that fails is tried again, up to Attempts times, with growing, jittered
// waits. A context that still could not be written stays readable, is named by
// [Memories.Status], and is tried again before the next job of its memory, by
// AwaitConsistency and by Close.
//
// What waits for one memory is done as a group (group commit): the entries
// share one append, one sync and one file in the outbox, and of several
// contexts only the last is written. Entries that stand between contexts carry
// each its own all the same. Where a group fails, its jobs are done one by one.
//
// # The backend
//
// With Options.Backend every entry is POSTed to that URL, {vault} and {memory}
// replaced, for example
// https://host/v0/vaults/{vault}/memories/{memory}/entries. The body is one
// JSON object:
//
//	memoryId        the memory
//	idempotencyKey  the entry's id; also the header Idempotency-Key
//	entry           the line as it was written, with id and timestamp
//	context         the snapshot, what context.json says
//	rawEntry        the entry's rawEntry, else its text, else the whole entry as a string
//	summary, metadata, tags, expirationTime   those of the entry, if any
//
// Any 2xx and 409 (it has the key already) end the delivery. 408, 425, 429,
// 5xx, 3xx, and no answer within BackendTimeout are tried again, for ever,
// with growing waits (Retry-After is heeded up to the longest). Any other 4xx
// parks the entry: it goes to the memory's dead letters with the reason, the
// next one is sent, and [Memories.RetryParked] puts it back. Entries of one
// memory arrive in order, each at least once, duplicates with the same key.
//
// What is not delivered lies in .ctxfs/log/outbox/<memory>/<number>.jsonl (as
// lines of entries.jsonl) and survives the process and the machine. Dead
// letters are in the file dead-letters beside: time, key, status, reason, line.
// Entries that were added without a backend are not sent later, and what is in
// the outbox waits there while there is none.
//
// # The backend of several hosts
//
// Where several hosts write the store (backing.Shared), the backend gets the
// entries of all in the order of entries.jsonl: they are delivered from it, and
// .ctxfs/deliveries/<memory>/cursor says how far, and which host does it. That
// is one at a time, until nothing is left; another one goes on from the cursor
// when the first gives it up, or has not moved or renewed it for Options.Lease.
// Who gets nothing delivered for a lease gives it up for two: perhaps another
// host reaches the backend.
//
// The cursor is changed by compare-and-set only, and stands behind an entry
// before the next is sent. So no host can send anything out of order that does
// not know that its turn is over, but for one thing: a request that was under
// way when it fell asleep may come late. It repeats an entry that the backend
// has taken by then, with the same key; a backend that heeds keys ignores it.
//
// The cursor begins where the first host with a backend adds to the memory.
// From there on everything is delivered, also what is added on a host, or at a
// time, without a backend. Dead letters lie beside the cursor, for all hosts;
// what is retried is sent by whoever delivers next, before the rest.
//
// # The room
//
// mkdir makes a memory; rmdir removes one without document and entries. A
// draft of context.md is put when it is committed, and awaited by Sync.
// A rename onto context.md is put and awaited; a rename away, and rm, remove
// the document and empty its snapshot. A refused draft is left in
// context.md.rej. context.json cannot be written (EACCES). entries.jsonl takes
// whole lines at its end: each is checked when it is written whole, and where
// one of a write's lines is refused (EINVAL) none of them is added. Truncating,
// writing below the end, removing and renaming it are EPERM. Because the
// stored line is longer than the written one, whoever serves the file must
// not keep pages of what was written. All other names are ordinary files.
//
// # Limits
//
// A memory's name: [A-Za-z0-9][A-Za-z0-9._:-]*, 128 bytes. A context document:
// [MaxContext] bytes, and Options.MaxChars characters where that is set, as
// the backend of the reference asks ([BackendMaxChars]); EFBIG. An entry's
// line: [MaxEntry] bytes. The field "context" of an entry is taken.
//
// # Concurrency
//
// Everything exported is safe for concurrent use. Locks are taken in this
// order: a draft's commit, its mu, an EntriesFile's mu, a box's letters, a
// hold's mu; then one of a shard's mu, Memories.mu and outbox.mu; a memory's mu
// last. Only those before the semicolon are held across calls to the store.
package memories
