package main

import (
	_ "embed"
	"fmt"

	"ctxfs/codec"
	"ctxfs/entries"
	"ctxfs/fusefs"
	"ctxfs/room"
)

// readme is what the mount shows as README, written for an agent.
//
//go:embed README.mount
var readme []byte

// constants is the part of `mount --help` with what a user might ask about.
func constants() string {
	return fmt.Sprintf(`Constants:
  kernel caches      names and attributes for up to %v, dropped at every change;
                     edits of the store by other programs show within 1s
  entry              at most %d MiB; a draft beyond %d MiB waits on disk
  frontmatter        at most %d KiB, %d levels, %d nodes
  names              agents and sessions 128 bytes, entries 251 bytes
  renamed away       an entry that an editor renamed to a backup name shows again
                     when the editor has ended, after %v at the latest
  .ctxfs/errors      the newest %d refusals
  log                begun anew at a start when over %d MiB, the old one kept as .1
  threads            GOMAXPROCS %d for each core, unless it is set
`, fusefs.CacheTime, entries.MaxSize>>20, room.BufferMemory>>20,
		codec.MaxFrontmatter>>10, codec.MaxLevels, codec.MaxNodes,
		entries.DanceTime, room.JournalLines, logLimit>>20, procsPerCore)
}
