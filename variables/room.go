package variables

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// Room shows the variables as files. What is under self is seen as by one
// caller, see [Room.For]. It implements [room.Room].
type Room struct {
	v *Variables
	c room.Caller
}

var _ room.Room = (*Room)(nil)

var _ room.Viewer = (*Room)(nil)

// Room returns the variables as a room, seen by nobody: self shows global.
func (v *Variables) Room() *Room { return &Room{v: v} }

// PerCaller implements [room.Viewer].
func (r *Room) PerCaller(path string) bool {
	return path == selfDir || strings.HasPrefix(path, selfDir+"/")
}

// For implements [room.Viewer]: self is c's session over its agent over global for
// reading, its agent for writing.
func (r *Room) For(c room.Caller) room.Room { return &Room{v: r.v, c: c} }

// who is the caller of a request, with the names that For was given where the
// request has none.
func (r *Room) who(c room.Caller) room.Caller {
	if c.Agent == "" {
		c.Agent = r.c.Agent
	}
	if c.Session == "" {
		c.Session = r.c.Session
	}
	return c
}

// Stat implements [room.Room]. It reads no content.
func (r *Room) Stat(ctx context.Context, path string) (room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return room.Info{}, err
	}
	return r.v.stat(ctx, r.c, p)
}

// List implements [room.Room]. It reads no content.
func (r *Room) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	p, err := placeOf(dir)
	if err != nil {
		return nil, err
	}
	return r.v.list(ctx, r.c, p, after, limit)
}

// Read implements [room.Room].
func (r *Room) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	p, err := placeOf(path)
	if err != nil {
		return nil, err
	}
	return r.v.readPlace(ctx, r.c, p, rev)
}

// Watch implements [room.Room]. Nothing is told of self: it is different for
// each caller and should not be cached.
func (r *Room) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	return r.v.Watch(ctx, changed)
}

// MakeDir implements [room.Room]: scopes exist without it, and nothing else
// is a directory.
func (r *Room) MakeDir(ctx context.Context, c room.Caller, path string, mode fs.FileMode) (room.Info, error) {
	p, err := placeOf(path)
	if err == nil && p.dir() {
		return room.Info{}, backing.ErrExists
	}
	if !strings.Contains(path, "/") {
		_, err := ParseScope(path)
		return room.Info{}, r.v.deny(c, err)
	}
	return room.Info{}, r.v.deny(c, refuse(syscall.EPERM, path, "", "a scope holds variables, no directories",
		"write the variable directly in its scope, as vars/global/dataset-part1"))
}

// RemoveDir implements [room.Room].
func (r *Room) RemoveDir(ctx context.Context, c room.Caller, path string) error {
	p, err := placeOf(path)
	if err != nil {
		return err
	}
	if !p.dir() || p.in != "" || p.scope == "" || p.scope == selfScope {
		return syscall.EPERM
	}
	return r.v.removeScopeDir(ctx, p.scope)
}

// Symlink implements [room.Room]: there are none.
func (r *Room) Symlink(ctx context.Context, c room.Caller, target, path string) (room.Info, error) {
	return room.Info{}, r.v.deny(c, refuse(syscall.EPERM, path, "", "a variable is no symbolic link",
		"copy the value, or pass its ref, vars/<scope>/.ref/<key>"))
}

// Readlink implements [room.Room]: there are none.
func (r *Room) Readlink(ctx context.Context, path string) (string, error) {
	return "", syscall.EINVAL
}

// target is the variable that a change of path is meant for, or the refusal.
func (r *Room) target(c room.Caller, path string) (name, error) {
	scope, key, deep := strings.Cut(path, "/")
	if !deep {
		if _, err := ParseScope(scope); err != nil && scope != selfDir {
			return name{}, err
		}
		return name{}, backing.ErrIsDir
	}
	if p, err := placeOf(path); err == nil && p.in != "" {
		return name{}, syscall.EROFS
	}
	s := Scope(scope)
	if s == selfScope {
		if err := ownSelf(c, path); err != nil {
			return name{}, err
		}
		if c.Agent == "" {
			return name{}, refuse(syscall.EACCES, path, "", "self is the caller's own view, and the caller has no name",
				"set CTXFS_AGENT in its environment, or write to vars/agent:<id>")
		}
		s = AgentScope(c.Agent)
	}
	n, err := parseName(s, key)
	if err != nil {
		return n, err
	}
	return n, nil
}

// ownSelf refuses the change of path, under self, by another user than the
// daemon's: what self means follows from a name that anybody can choose, and
// the kernel has not checked the rights to what it means.
func ownSelf(c room.Caller, path string) error {
	if c.PID == 0 || c.UID == 0 || c.UID == uint32(os.Geteuid()) {
		return nil
	}
	return refuse(syscall.EACCES, path, "", "self can be changed only by the user who has mounted it",
		"write to vars/agent:<id> or vars/global, where you may")
}

// existing is target for a change of what is there: under self it is what the
// caller sees, unless everybody sees it.
func (r *Room) existing(ctx context.Context, c room.Caller, path string) (name, error) {
	n, err := r.target(c, path)
	if err != nil || !strings.HasPrefix(path, selfDir+"/") {
		return n, err
	}
	s, err := r.v.find(ctx, c, n.key)
	if err == nil && s.name.scope == Global {
		err = refuse(syscall.EACCES, path, "", "it is a global variable, and self changes only the caller's own",
			"use vars/global/"+codec.CleanLabel(n.key))
	}
	return s.name, err
}
