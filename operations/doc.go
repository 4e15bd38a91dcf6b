// Package operations is what an agent does with a store, above plain file
// calls: it finds, sets and resolves variables, lists results, adds entries to
// memories, writes entries and supersedes them. The commands and the MCP tools
// are thin layers over it, so that both do the same.
//
// An [Actor] is somebody at a store, mounted or not (package access). All its
// methods are safe for concurrent use.
//
// # Errors
//
// An [ArgumentError] is an argument that cannot be understood; nothing was
// done. The others are those of access.Files: *codec.Refusal where a rule says
// no, with reason and fix.
//
// # What it must not know
//
// Command lines, MCP, the environment, and how a store is found.
package operations
