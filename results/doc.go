// Package results keeps the outputs of tools, so that they need not lie in an
// agent's memory: it is the context storage of reference/2. It is a Go library
// ([Session.SaveContext], [Session.LoadContext], [Session.ListContexts],
// [Session.ClearContexts], [HashQuery]) and a room.Room ([Results.Room]), so
// that every result is also a file.
//
// # Files
//
// A result is results/<sessionId>-<tool>-<hash>.json, one JSON object with
// toolName, args (an object), result (anything), timestamp (ISO 8601; UTC
// where it has no zone), queryId (may be ""), sessionId and, where given,
// taskId. Other members are kept. What does not agree with that, or with its
// name, is refused; the draft then stays as <name>.json.rej beside it until
// the result is written validly.
//
// Session and tool may have hyphens. A name is therefore not taken apart: the
// content says both, and the name must begin with them. Bytes that names
// don't have are written as %XX, see [FileName].
//
// The hash is the writer's choice, letters and digits. [Context.Encode], and
// with it SaveContext, takes the first 12 hexadecimal digits of a SHA-256 over
// the members without the timestamp, one `"name":value` a line: saving the
// same output again is the same file, another output of the same call another
// one, so that no pointer ever leads to something else.
//
// [HashQuery] is "query-" and the first 12 hexadecimal digits of the SHA-256 of
// the query's bytes.
//
// All other names in the directory (temporary files, editors' files, .rej) are
// ordinary files. A rename of one of them onto a result's name is a save. The
// file .list is JSONL of all results without their contents, see [Listed]; it
// is reachable by name and not listed.
//
// # Memory and disk
//
// A result under [MemoryBelow] stays in memory, a larger one is a file in the
// store; so is a small one while [MemoryTotal] bytes are in memory. Whoever
// reads cannot tell the difference. Checking and describing reads a result
// once, in constant memory, when it is saved; listing reads nothing.
//
// # The end
//
// Results are cleared by [Session.ClearContexts], by `rm results/<session>-*`,
// when the room is closed, and when it is opened: they are not restored.
// The directory belongs to this package; what another program puts there is
// not shown as a result and removed by the next Open.
//
// # Limits
//
// A result has at most [MaxSize] bytes and nests at most [MaxDepth] deep.
// Session, tool and hash have at most [MaxSession], [MaxTool] and [MaxHash]
// bytes as they stand in a name. queryId and taskId have at most 1,024 bytes.
// A description has at most 240 characters.
//
// # Concurrency
//
// Everything exported is safe for concurrent use. Locks are taken in this
// order: a draft's mu, the lock of a name, then the small ones of index and
// watchers, of which none is held across a call to the store.
package results
