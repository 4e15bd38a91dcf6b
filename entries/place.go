package entries

import (
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// place is where in the tree a path points, by its text alone.
type place struct {
	path    string
	depth   int // 0 the top, 1 an agent, 2 and 3 what lies in its directories
	dir     string
	name    string
	agent   string // "" at the top
	session string // "" unless the path is below a session's directory
}

func (p place) key() backing.Key { return backing.Key(p.path) }

// isEntry reports whether an entry belongs at p, valid name or not.
func (p place) isEntry() bool { return (p.depth == 2 || p.depth == 3) && codec.IsEntry(p.name) }

// placeOf locates path. It is ErrNotFound for what this room never shows:
// below directories that are none of an agent or session, deeper than three.
func placeOf(path string) (place, error) {
	if path == "" {
		return place{}, nil
	}
	parts := strings.Split(path, "/")
	p := place{path: path, depth: len(parts), name: parts[len(parts)-1]}
	if _, err := backing.ParseKey(path); err != nil {
		return p, err
	}
	p.dir = strings.TrimSuffix(strings.TrimSuffix(path, p.name), "/")
	p.agent = parts[0]
	if p.depth > 1 && !agentName(p.agent) {
		return p, backing.ErrNotFound
	}
	if p.depth == 3 {
		p.session = parts[1]
	}
	if p.depth >= 3 && !dirName(parts[1]) {
		return p, backing.ErrNotFound
	}
	return p, nil
}

// dirName reports whether an agent's or session's directory may be named so.
func dirName(name string) bool {
	return codec.CheckDirName(name) == nil && !codec.IsEntry(name)
}

func agentName(name string) bool { return dirName(name) && !codec.Reserved[name] }

// lockName reports whether name is that of an editor's lock, the one kind of
// symbolic link there is (design 3.6).
func lockName(name string) bool { return strings.HasPrefix(name, ".#") }

// kindOf says what m is at p; ok is false for what is not shown.
func (p place) kindOf(m backing.Meta) (kind room.Kind, ok bool) {
	switch {
	case p.depth > 3 || m.Special:
		return 0, false
	case m.Dir:
		return room.Dir, p.depth == 0 || p.depth == 1 && agentName(p.name) || p.depth == 2 && dirName(p.name)
	case p.depth < 2:
		return 0, false
	case m.Link:
		return room.Link, lockName(p.name)
	case p.isEntry():
		return room.Object, true
	}
	return room.Plain, true
}

// info describes m at p; ok is false for what is not shown.
func (p place) info(m backing.Meta) (info room.Info, ok bool) {
	kind, ok := p.kindOf(m)
	info = room.Info{
		Name: p.name, Kind: kind, Size: m.Size, ModTime: m.ModTime,
		Mode: m.Mode.Perm(), UID: m.UID, GID: m.GID,
	}
	if kind == room.Object {
		info.Revision = m.Revision
	} else {
		info.Number = m.Number
	}
	return info, ok
}

// checkFile says whether a file or link may be made at p: nil, or why not.
func (p place) checkFile() error {
	switch {
	case p.depth <= 1:
		return &codec.Refusal{Errno: syscall.EPERM, Path: p.path,
			Reason: "only directories of agents can be made here",
			Fix:    "write into the directory of an agent: <agent>/<timestamp>-<slug>.md"}
	case p.depth > 3:
		return &codec.Refusal{Errno: syscall.EPERM, Path: p.path,
			Reason: "entries lie in an agent's directory or in one session below it, no deeper",
			Fix:    "write to <agent>/ or <agent>/<session>/"}
	case !codec.IsEntry(p.name):
		return nil
	}
	return withPath(codec.CheckEntryName(p.name), p.path)
}

// checkDir says whether a directory may be made at p: nil, or why not.
func (p place) checkDir() error {
	switch {
	case p.depth > 2:
		return &codec.Refusal{Errno: syscall.EPERM, Path: p.path,
			Reason: "there are no directories below that of a session",
			Fix:    "use <agent>/<session>/, and a longer file name for what distinguishes entries"}
	case p.depth == 1 && codec.Reserved[p.name]:
		return &codec.Refusal{Errno: syscall.EINVAL, Path: p.path,
			Reason: p.name + " is reserved and cannot be an agent", Fix: "choose another name for the agent"}
	case codec.IsEntry(p.name):
		return &codec.Refusal{Errno: syscall.EINVAL, Path: p.path,
			Reason: "a directory cannot have a name that ends in .md", Fix: "leave the ending out"}
	}
	return withPath(codec.CheckDirName(p.name), p.path)
}
