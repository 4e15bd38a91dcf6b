// Package variables is the context store of reference/4: values under keys in
// scopes, which agents hand to each other as refs without reading them. It is
// a Go library ([Variables.Set], [Variables.Get], [Variables.Ref],
// [Variables.Resolve], [Variables.Delete], [Variables.List],
// [Variables.Summarize], [Variables.Promote]) and a room.Room, so that every
// variable is also a file.
//
// # Scopes and keys
//
// A [Scope] is "global", "agent:<id>" or "session:<id>". Every well-formed
// scope exists; it needs no making. A key has 1 to 200 bytes of UTF-8, no
// slash, no control character, and does not begin with a dot.
//
// # Where values live
//
// Agent and global variables are files, vars/<scope>/<key>, plain content,
// durable when the set or the close returns. Session variables live in memory
// until the session is cleared or the store closes, unless they are
// persisted; then they are files too. A session variable over
// [DefaultSpillAbove] bytes, and the least recently used ones above
// [Options.MemoryCeiling], lie on disk under .ctxfs/vars-spill, which is
// emptied at the next start. Whoever reads cannot tell the difference.
//
// # Types
//
// A type that follows from the key (json for "*.json", else text) is stored
// nowhere. Every other type, and what identifies a stream, stands in
// .ctxfs/vars/<scope>.jsonl, one line a change. The line is written before
// the content and names the revision that it replaces with its old type, so
// that after a crash in between the old content has its old type. A line
// without a variable means nothing, and is dropped at the next start.
//
// # Refs
//
// A [Ref]'s id is a hash of scope, key and the revision of the content: it
// names one value. Once the variable is replaced or removed, resolving the
// ref is a *codec.Refusal with ESTALE or ENOENT. A stream's ref stays good
// while the stream grows. Refs and lists read metadata only. Metadata of a
// file is believed for [MetadataAge], so that an edit of the store's files by
// another program shows after that time at the latest; contents are always
// the current ones.
//
// # The room
//
// The top lists global and the scopes that hold something. In each scope,
// reachable by name and never listed: .ref/<key>, .summary/<key>,
// .summary/<key>@<tokens> and .list. "self" is the view of one caller, see
// [Variables.For].
//
// # Concurrency
//
// Everything exported is safe for concurrent use. Locks are taken in this
// order: a draft's commit, its mu, the stripes of names (of several the lower
// first), scopeLabels.write, and the small ones of memory, drafts and caches
// last. Those small ones are never held across a call to the store.
package variables
