// Package codec knows the formats of ctxfs: bytes become values, values
// become bytes. It does no I/O, asks no clock and reads no environment; what
// it must know of the world (who writes, when, under which name) comes as an
// argument. All functions may be called concurrently; none keeps or changes
// the slices it is given, but a result may share memory with them.
//
// # Entries
//
// An entry is a markdown file with YAML frontmatter, as reference/1 describes
// it. Its frontmatter begins at byte 0 with a line of three hyphens (a UTF-8
// byte order mark before it is accepted and kept) and ends with such a line.
// Line ends are LF or CRLF. [Complete] validates an entry and fills in what
// the file system knows; [CheckPrefix] says while it is being written whether
// it can still become valid; [Parse] reads one back.
//
// In the frontmatter these are refused: bytes that are not UTF-8, NUL and
// other control characters, line breaks other than LF and CRLF, more than
// [MaxFrontmatter] bytes, [MaxLevels] levels or [MaxNodes] nodes, anchors,
// aliases, merge keys, keys that are no scalars or occur twice, and more than
// one YAML document. The body may hold any bytes.
//
// Bytes are never re-encoded: filling in inserts lines and leaves every other
// byte as it was.
//
// # The changelog
//
// The section is the last line "## Changelog" outside code fences (blanks at
// its end do not count), down to the next heading of level 1 or 2 or the end
// of the file. A fence that nothing closes is no fence: it hides nothing.
// [Merge] makes the next version of an entry out of the old one and what a
// writer left, so that no line of the section is ever lost.
//
// # Refusals
//
// Everything that is refused is a [*Refusal]: errno, path, line, field,
// reason and fix, for the kernel, the .rej file ([RejFile]), the command line
// and MCP alike. Text of the writer is quoted in it and cut short.
package codec
