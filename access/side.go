package access

import (
	"strings"

	"ctxfs/backing"
	"ctxfs/backing/joined"
	"ctxfs/codec"
)

// sharedOfMemory are the files of a memory that every host has.
var sharedOfMemory = map[string]bool{"context.md": true, "context.json": true, "entries.jsonl": true}

// sideOf says what of a store is this host's where other hosts write it too:
//
//   - in agents' directories all files that are no entries: swap files,
//     temporary files, refused drafts, attachments;
//   - results, which end with their session, and what session variables spill;
//   - beside memories and the history what is not theirs;
//   - of ctxfs's own the journal of refusals, marks that a crash of this host
//     leaves undone, and the outbox that a ctxfs from before had on each host.
//
// Variables, with the notes of their types, archives, and how far memories
// have been delivered are everybody's.
func sideOf(key backing.Key) joined.Side {
	first, rest, deep := strings.Cut(string(key), "/")
	switch first {
	case "results":
		return joined.Local
	case "vars":
		return joined.Shared
	case "memories":
		if _, file, ok := strings.Cut(rest, "/"); ok && !sharedOfMemory[file] {
			return joined.LocalFile
		}
		return joined.Shared
	case "invocations":
		if deep && rest != "context.jsonl" {
			return joined.LocalFile
		}
		return joined.Shared
	case backing.Own:
		own, _, _ := strings.Cut(rest, "/")
		if deep && own != "vars" && own != "archives" && own != "deliveries" {
			return joined.Local
		}
		return joined.Shared
	}
	if deep && !codec.IsEntry(key.Name()) {
		return joined.LocalFile
	}
	return joined.Shared
}
