package memories

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
)

// The files of a memory.
const (
	contextFile  = "context.md"
	snapshotFile = "context.json"
	entriesFile  = "entries.jsonl"
	// tmpEnd is what the write algorithm of reference/3 appends to a file's
	// name while it writes the next version.
	tmpEnd = ".tmp"
	rejEnd = ".rej"
)

// roomDir is the directory of the memories at the top of a store, and of the
// mount.
const roomDir = "memories"

// CheckMemory returns nil if id may be a memory: [A-Za-z0-9][A-Za-z0-9._:-]*,
// at most 128 bytes. Otherwise a *codec.Refusal with EINVAL.
func CheckMemory(id string) error {
	err := codec.CheckDirName(id)
	var r *codec.Refusal
	if errors.As(err, &r) {
		r.Path, r.Field = roomDir, "memory"
	}
	return err
}

// place is where a path of the room leads.
type place struct {
	path   string // "", "<memory>", "<memory>/<file>"
	memory string
	file   string // "" of a memory's directory
}

// placeOf takes a path apart. What is deeper than a memory's files, or in what
// can be no memory, does not exist.
func placeOf(path string) (place, error) {
	if path == "" {
		return place{}, nil
	}
	memory, file, deep := strings.Cut(path, "/")
	if deep && (file == "" || strings.Contains(file, "/")) {
		return place{}, backing.ErrNotFound
	}
	return place{path, memory, file}, nil
}

// ours reports whether the file is one of those that have a meaning.
func (p place) ours() bool {
	return p.file == contextFile || p.file == snapshotFile || p.file == entriesFile
}

// dirKey is where a memory's files lie.
func (s *Memories) dirKey(memory string) backing.Key { return s.top.Join(memory) }

func (s *Memories) key(memory, file string) backing.Key { return s.dirKey(memory).Join(file) }

// asideDir keeps the scratch files whose names the write algorithm needs for
// itself.
const asideDir backing.Key = backing.Own + "/memories-scratch"

// scratchKey is where an ordinary file of a memory's directory lies: beside
// the others, except for the two names in which the worker prepares the next
// version.
func (s *Memories) scratchKey(p place) backing.Key {
	if isTmp(p.file) {
		return asideDir.Join(p.memory).Join(p.file)
	}
	return s.key(p.memory, p.file)
}

func isTmp(file string) bool { return file == contextFile+tmpEnd || file == snapshotFile+tmpEnd }

// refuse returns the refusal of what stands at path, relative to this room.
func refuse(errno syscall.Errno, path, field, fix, reason string, a ...any) *codec.Refusal {
	if path == "" {
		path = roomDir
	} else {
		path = roomDir + "/" + path
	}
	return &codec.Refusal{Errno: errno, Path: path, Field: field, Reason: fmt.Sprintf(reason, a...), Fix: fix}
}
