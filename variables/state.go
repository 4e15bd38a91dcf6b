package variables

import (
	"io/fs"
	"os"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

// state is what is known of a variable without its content.
type state struct {
	name     name
	size     int64
	modTime  time.Time
	created  time.Time
	mode     fs.FileMode
	uid, gid uint32
	rev      backing.Revision
	id       string
	typ      Type
	said     bool  // the type was said by somebody and does not follow from the key
	cell     *cell // where it lives in memory; nil of a file
	spilled  bool  // its content lies on disk, though it is in memory by rights
	pending  bool  // made by an open for writing, and not committed yet
}

func (s *state) ref() Ref {
	return Ref{ID: s.id, Key: s.name.key, Scope: s.name.scope, Type: s.typ, SizeBytes: s.size, Created: stamp(s.created)}
}

func (s *state) info(inPlace bool) room.Info {
	kind := room.Object
	if s.typ == Stream && inPlace {
		kind = room.Plain
	}
	return room.Info{Name: s.name.key, Kind: kind, Size: s.size, ModTime: s.modTime,
		Mode: s.mode, UID: s.uid, GID: s.gid, Revision: s.rev}
}

// owner is who a copy of the variable belongs to, whoever makes it.
func (s *state) owner() room.Caller {
	return room.Caller{PID: uint32(os.Getpid()), UID: s.uid, GID: s.gid}
}

// Meta describes a variable in a list.
type Meta struct {
	Ref
	Modified time.Time `json:"modified"`
	Persist  bool      `json:"persist"` // survives a restart
	Spilled  bool      `json:"spilled"` // a session variable that lies on disk
}

func (s *state) meta() Meta {
	return Meta{Ref: s.ref(), Modified: stamp(s.modTime), Persist: s.cell == nil && !s.pending, Spilled: s.spilled}
}
