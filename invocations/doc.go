// Package invocations is the append-only history of tool invocations of
// reference/5. It is a Go library ([History.Append], [History.Read],
// [History.Select], [History.Record]) and a room.Room ([History.Room]): the
// file invocations/context.jsonl.
//
// # Lines
//
// An entry is one JSON object on one line: tool_name (text, not empty), params
// and result (anything, null too), success (true or false), summary (text or
// null), timestamp (ISO 8601; UTC where it has no zone), id (a UUID), in this
// order where this package writes it. Other fields are kept. Of a line that is
// appended as text no byte changes, but for white space around it; success,
// timestamp and id are added at its end where they are missing: true, now, a
// random one. tool_name, params and result must be there. A known field that
// stands there twice is refused.
//
// # Appending
//
// Appends of all handles, of Append and of Record come one after another, each
// in one piece: no line is ever within another. They survive the end of the
// process at once, and a loss of power after [History.Sync] or fsync(2).
//
// A write through the room is taken line by line. Whole lines of one write are
// appended together; if one of them is no invocation none is, and the write
// fails with a *codec.Refusal that says which field and why. A line without
// its end waits in its handle for the rest; at the last close it is appended
// if it is an invocation, otherwise refused. What was refused, and a last line
// that a crash cut off, is kept in context.jsonl.rej, which can be removed.
//
// The file is never shortened, emptied, overwritten, renamed or removed
// through the room: EPERM. A write without O_APPEND must be at its end.
//
// # Reading
//
// The newest entries are read from the end of the file backwards, in the time
// and memory that they need themselves. Lines that are no invocation are left
// out.
//
// # Limits
//
// A line has at most [MaxLine] bytes, the .rej at most [MaxReject]. A handle
// has at most one unfinished line in memory, a reader a few times the longest
// line. The history is never cut or rotated.
//
// # Concurrency
//
// Everything exported is safe for concurrent use. Locks are taken in this
// order: a handle's mu, History.mu, History.rej.
package invocations
