package entries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// pending is an entry's name with nothing under it yet: made by touch, or by
// an open that has not committed. It lives in memory and is in no store.
type pending struct {
	info room.Info
}

const pendingRevision = "pending-"

func isPendingRevision(rev backing.Revision) bool {
	return strings.HasPrefix(string(rev), pendingRevision)
}

// nothing is the content of a pending entry.
type nothing struct{}

func (nothing) ReadAt(p []byte, off int64) (int, error) { return 0, io.EOF }
func (nothing) Close() error                            { return nil }
func (nothing) Size() int64                             { return 0 }

// readable are the permission bits of a new entry that was asked for with
// mode: those alone, and its owner can read it.
func readable(mode fs.FileMode) fs.FileMode { return mode.Perm() | 0o400 }

// addPending makes a pending entry at p, or returns the one that is there,
// which is ErrExists where exclusive. made says which.
func (e *Entries) addPending(ctx context.Context, c room.Caller, p place, mode fs.FileMode, exclusive bool) (info room.Info, made bool, err error) {
	// The directory must not go away meanwhile.
	defer e.paths.lock(p.dir)()
	if m, err := backing.StatCached(ctx, e.store, backing.Key(p.dir)); err != nil {
		return room.Info{}, false, err
	} else if !m.Dir {
		return room.Info{}, false, backing.ErrNotDir
	}
	e.mu.Lock()
	old := e.pending[p.path]
	if old == nil {
		e.nPending++
		info = room.Info{Name: p.name, Kind: room.Object, ModTime: e.now(), Mode: readable(mode),
			UID: c.UID, GID: c.GID, Revision: backing.Revision(fmt.Sprintf("%s%d", pendingRevision, e.nPending))}
		e.pending[p.path] = &pending{info: info}
		made = true
	} else {
		info = old.info
	}
	e.mu.Unlock()
	if !made && exclusive {
		return room.Info{}, false, backing.ErrExists
	}
	// A commit puts first and ends the pending entry then: whoever finds
	// neither before and nothing in the store now was really first.
	// Of another host's only who wants to be the first has to know now.
	stat := e.store.Stat
	if !exclusive {
		stat = func(ctx context.Context, key backing.Key) (backing.Meta, error) {
			return backing.StatCached(ctx, e.store, key)
		}
	}
	if _, err := stat(ctx, p.key()); !errors.Is(err, backing.ErrNotFound) {
		if made {
			e.dropPending(p.path)
		}
		if err == nil {
			err = backing.ErrExists
		}
		return room.Info{}, false, err
	}
	return info, made, nil
}

func (e *Entries) pendingInfo(path string) (room.Info, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.pending[path]
	if p == nil {
		return room.Info{}, false
	}
	return p.info, true
}

// pendingIn returns the pending entries in dir with names after a name, in no
// order.
func (e *Entries) pendingIn(dir, after string) []room.Info {
	e.mu.Lock()
	defer e.mu.Unlock()
	var infos []room.Info
	for path, p := range e.pending {
		if string(backing.Key(path).Dir()) == dir && p.info.Name > after {
			infos = append(infos, p.info)
		}
	}
	return infos
}

// dropPending ends the pending entry at path and reports whether there was one.
func (e *Entries) dropPending(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.pending[path]
	delete(e.pending, path)
	return ok
}

// changePending changes the metadata of a pending entry; ok is false where
// there is none.
func (e *Entries) changePending(path string, a backing.AttrChange) (info room.Info, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.pending[path]
	if p == nil {
		return room.Info{}, false
	}
	if a.Mode != nil {
		p.info.Mode = a.Mode.Perm()
	}
	if a.ModTime != nil {
		p.info.ModTime = *a.ModTime
	}
	if a.UID != nil {
		p.info.UID = *a.UID
	}
	if a.GID != nil {
		p.info.GID = *a.GID
	}
	return p.info, true
}
