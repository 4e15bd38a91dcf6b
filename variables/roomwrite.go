package variables

import (
	"context"
	"errors"
	"os"
	"syscall"

	"ctxfs/backing"
	"ctxfs/room"
)

// Write implements [room.Room]. A stream is opened in place. A new variable
// that is opened with O_APPEND is a stream, unless its key says json.
func (r *Room) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	c = r.who(c)
	n, err := r.target(c, path)
	if err != nil {
		return nil, room.Info{}, r.v.deny(c, err)
	}
	if o.Flags&os.O_APPEND != 0 && backing.IsShared(r.v.store) {
		// Another host may just have made it a stream: taken for a text it
		// would be replaced as a whole, with what is appended meanwhile.
		r.v.labels.forget(n.scope)
	}
	s, base, err := r.begins(ctx, c, path, n)
	switch {
	case errors.Is(err, backing.ErrNotFound) && o.New:
		if s, err = r.v.begin(ctx, n, c, o); err != nil {
			return nil, room.Info{}, r.v.deny(c, err)
		}
		base = n
	case err != nil:
		return nil, room.Info{}, err
	case o.New && o.Exclusive:
		return nil, room.Info{}, backing.ErrExists
	}
	if s.typ == Stream && r.v.files != nil {
		return r.writeStream(ctx, c, path, s, base == n, o.Flags)
	}
	if r.v.store.ReadOnly() {
		return nil, room.Info{}, backing.ErrReadOnly // a shell would not hear it at the close
	}
	d := r.v.newDraft(n, base, s, c, o.Flags&os.O_TRUNC != 0)
	d.opened.Volatile = r.PerCaller(path)
	return d, d.Info(), nil
}

// writeStream opens the stream s in place. What the caller sees through self
// but does not own it can only read there.
func (r *Room) writeStream(ctx context.Context, c room.Caller, path string, s state, own bool, flags int) (room.File, room.Info, error) {
	if !own && flags&(syscall.O_ACCMODE|os.O_TRUNC) != os.O_RDONLY {
		return nil, room.Info{}, r.v.deny(c, refuse(syscall.EACCES, path, "", "it is the stream "+s.name.path()+
			", and self changes only the caller's own", "append to vars/"+s.name.path()))
	}
	f, err := r.v.openStream(ctx, s, flags)
	info := s.info(true)
	info.Volatile = r.PerCaller(path)
	return f, info, err
}

// begins describes what a draft of n begins with, and whose it is: under self
// that may be a value which the caller sees elsewhere.
func (r *Room) begins(ctx context.Context, c room.Caller, path string, n name) (state, name, error) {
	s, err := r.v.state(ctx, n)
	if errors.Is(err, backing.ErrNotFound) && r.PerCaller(path) {
		s, err = r.v.find(ctx, c, n.key)
	}
	return s, s.name, err
}

// begin makes a variable that is only being written, or an empty stream.
func (v *Variables) begin(ctx context.Context, n name, c room.Caller, o room.Create) (state, error) {
	mode := o.Mode.Perm()
	if v.store.ReadOnly() {
		return state{}, backing.ErrReadOnly
	}
	if o.Flags&os.O_APPEND == 0 || typeOfKey(n.key) == JSON || v.files == nil {
		return v.drafts.begin(n, mode, c.UID, c.GID, v.o.Now()), nil
	}
	defer v.lock(n)()
	s, err := v.committed(ctx, n)
	if errors.Is(err, backing.ErrNotFound) {
		return v.create(ctx, value{name: n, typ: Stream, mode: mode, by: c})
	}
	return s, err
}

// Remove implements [room.Room].
func (r *Room) Remove(ctx context.Context, c room.Caller, path string) error {
	c = r.who(c)
	n, err := r.existing(ctx, c, path)
	if err != nil {
		return r.v.deny(c, err)
	}
	defer r.v.lock(n)()
	return r.v.remove(ctx, n)
}

// Rename implements [room.Room]. Between scopes it is a promotion. Of the
// flags of renameat2(2) there is RENAME_NOREPLACE.
func (r *Room) Rename(ctx context.Context, c room.Caller, from, to string, flags uint) error {
	c = r.who(c)
	old, err := r.existing(ctx, c, from)
	if err != nil {
		return r.v.deny(c, err)
	}
	next, err := r.target(c, to)
	if err != nil {
		return r.v.deny(c, err)
	}
	return r.v.deny(c, r.v.move(ctx, old, next, flags))
}

// SetAttr implements [room.Room].
func (r *Room) SetAttr(ctx context.Context, c room.Caller, path string, a backing.AttrChange) (room.Info, error) {
	c = r.who(c)
	if p, err := placeOf(path); err == nil && p.dir() && p.in == "" && p.scope != selfScope {
		dir := backing.Key(roomDir)
		if p.scope != "" {
			dir = scopeDir(p.scope)
		}
		if _, err := r.v.store.SetAttr(ctx, dir, a); err != nil && !errors.Is(err, backing.ErrNotFound) {
			return room.Info{}, err
		}
		return r.v.dirInfo(ctx, p)
	}
	n, err := r.existing(ctx, c, path)
	if err != nil {
		return room.Info{}, r.v.deny(c, err)
	}
	defer r.v.lock(n)()
	s, err := r.v.setAttr(ctx, n, a)
	if p, ok := r.v.drafts.pending(n); ok && errors.Is(err, backing.ErrNotFound) {
		return p.info(false), nil
	}
	info := s.info(r.v.files != nil)
	info.Volatile = r.PerCaller(path)
	return info, err
}

// setAttr changes metadata of a committed variable; its stripe is held.
func (v *Variables) setAttr(ctx context.Context, n name, a backing.AttrChange) (state, error) {
	s, err := v.committed(ctx, n)
	if err != nil {
		return s, err
	}
	if s.cell != nil && s.typ != Stream {
		s, ok := v.memory.change(s.cell, a, backing.Revision(v.next()))
		if !ok {
			return s, backing.ErrNotFound
		}
		return s, nil
	}
	defer v.known.forget(n)
	m, err := v.store.SetAttr(ctx, v.streamFile(s), a)
	if err != nil {
		return s, err
	}
	if s.cell != nil {
		s, _ := v.memory.change(s.cell, a, m.Revision)
		return s, nil
	}
	return v.described(ctx, n, m)
}

// removeScopeDir removes the empty directory of scope.
func (v *Variables) removeScopeDir(ctx context.Context, scope Scope) error {
	for _, s := range append(v.memory.scopes(), v.drafts.scopes()...) {
		if s == scope {
			return backing.ErrNotEmpty
		}
	}
	if err := v.store.RemoveDir(ctx, scopeDir(scope)); err != nil && !errors.Is(err, backing.ErrNotFound) {
		return err
	}
	return nil
}
