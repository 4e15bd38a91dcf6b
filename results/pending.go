package results

import (
	"fmt"
	"io/fs"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

// addPending makes name an empty file that may become a result, unless there
// is something of that name; ok is false then.
func (x *index) addPending(name string, mode fs.FileMode, uid, gid uint32, now time.Time) (info room.Info, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if info, taken := x.infoLocked(name); taken {
		return info, false
	}
	x.count++
	info = room.Info{Name: name, Kind: room.Object, ModTime: now, Mode: mode.Perm(), UID: uid, GID: gid,
		Revision: backing.Revision(fmt.Sprintf("%s%d", pendingRevision, x.count))}
	x.pending[name] = info
	x.sorted, x.changed = nil, now
	return info, true
}

const pendingRevision = "pending."

func (x *index) isPending(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.pending[name]
	return ok
}

// dropPending ends the pending file of a name, if there is one.
func (x *index) dropPending(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.pending[name]; !ok {
		return false
	}
	delete(x.pending, name)
	x.sorted = nil
	return true
}

// setAttr changes metadata of a result or a pending one.
func (x *index) setAttr(name string, a backing.AttrChange) (room.Info, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old := x.records[name]; old != nil {
		r := *old
		r.attr++
		change(a, &r.mode, &r.modTime, &r.uid, &r.gid)
		x.records[name] = &r
		return r.info(), true
	}
	info, ok := x.pending[name]
	if ok {
		change(a, &info.Mode, &info.ModTime, &info.UID, &info.GID)
		x.pending[name] = info
	}
	return info, ok
}

func change(a backing.AttrChange, mode *fs.FileMode, at *time.Time, uid, gid *uint32) {
	if a.Mode != nil {
		*mode = a.Mode.Perm()
	}
	if a.ModTime != nil {
		*at = *a.ModTime
	}
	if a.UID != nil {
		*uid = *a.UID
	}
	if a.GID != nil {
		*gid = *a.GID
	}
}

// noteReject remembers whether this room has left a refused draft at name; it
// reports what was known before.
func (x *index) noteReject(name string, there bool) (was bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	was = x.rejects[name]
	if there {
		x.rejects[name] = true
	} else {
		delete(x.rejects, name)
	}
	return was
}

// open counts the open drafts of a name and returns how many there are.
func (x *index) open(name string, by int) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drafts[name] += by
	n := x.drafts[name]
	if n == 0 {
		delete(x.drafts, name)
	}
	return n
}
