package variables

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

// value is the next value of a variable.
type value struct {
	name    name
	content source
	typ     Type // "" keeps that of the variable, or follows from the key
	persist bool // a session variable becomes a file
	checked bool // a json value is known to parse
	first   bool // there is none yet, or the put is backing.ErrExists
	mode    fs.FileMode
	modTime time.Time // zero is now
	by      room.Caller
}

// put makes val the value of its name: all of it or, with an error, nothing.
// The stripe of the name is held.
func (v *Variables) put(ctx context.Context, val value) (state, error) {
	if err := ctx.Err(); err != nil {
		return state{}, err
	}
	inMemory := false
	old, err := v.committed(ctx, val.name)
	switch {
	case err == nil && val.first:
		return state{}, backing.ErrExists
	case err == nil:
		inMemory = old.cell != nil
	case errors.Is(err, backing.ErrNotFound):
		inMemory = val.name.scope.session()
	default:
		return state{}, err
	}
	typ, said := val.typ, val.typ != "" && val.typ != typeOfKey(val.name.key)
	if typ == "" {
		typ, said = typeOfKey(val.name.key), false
		if old.said {
			typ, said = old.typ, true
		}
	}
	if typ == JSON && !val.checked {
		if err := v.checkJSON(val, old); err != nil {
			return state{}, err
		}
	}
	if inMemory && !val.persist {
		return v.putMemory(ctx, val, typ, said, old)
	}
	s, err := v.putDurable(ctx, val, typ, said, old)
	if err == nil && old.cell != nil {
		left, _ := v.memory.remove(val.name, old.cell)
		v.offDisk(left)
	}
	return s, err
}

// create puts val, of whose name there is no value yet. Where another host has
// just made one, create returns that: what was appended to it stays.
func (v *Variables) create(ctx context.Context, val value) (state, error) {
	val.first = true
	s, err := v.put(ctx, val)
	if !errors.Is(err, backing.ErrExists) {
		return s, err
	}
	v.labels.forget(val.name.scope)
	v.known.forget(val.name)
	return v.committed(ctx, val.name)
}

// committed is state without what is only being written. Its zero is returned
// with ErrNotFound.
func (v *Variables) committed(ctx context.Context, n name) (state, error) {
	s, err := v.state(ctx, n)
	if err == nil && s.pending {
		err = backing.ErrNotFound
	}
	if err != nil {
		return state{}, err
	}
	return s, nil
}

// checkJSON refuses content that does not parse. A new variable may be empty,
// as touch(1) and editors make it.
func (v *Variables) checkJSON(val value, old state) error {
	if val.content.size() == 0 && old.rev == "" {
		return nil
	}
	return jsonRefusal(val.name, checkJSON(val.content.reader()))
}

func jsonRefusal(n name, err error) error {
	var bad *jsonError
	if !errors.As(err, &bad) {
		return err
	}
	r := refuse(syscall.EINVAL, n.path(), "", "not JSON: "+bad.what,
		"write one valid JSON value, check it with jq, or give the variable another type than json")
	r.Line = bad.line
	return r
}

func (v *Variables) putMemory(ctx context.Context, val value, typ Type, said bool, old state) (state, error) {
	n, size := val.name, val.content.size()
	now := val.modTime
	if now.IsZero() {
		now = v.o.Now()
	}
	c := &cell{name: n, typ: typ, said: said, size: size, created: now, modTime: now, rev: backing.Revision(v.next()),
		mode: val.mode, uid: val.by.UID, gid: val.by.GID}
	if old.rev != "" {
		c.mode, c.uid, c.gid = old.mode, old.uid, old.gid
	}
	if val.mode != 0 {
		c.mode = val.mode
	}
	if c.mode == 0 {
		c.mode = 0o644
	}
	c.id = valueID(n, string(c.rev))
	var err error
	if size > min(v.o.SpillAbove, v.o.MemoryCeiling) || typ == Stream || val.content.up != nil {
		c.disk, err = v.toDisk(ctx, val.content.give())
	} else {
		c.data = val.content.data
		v.memory.reserve(size)
		if err = v.shrink(ctx); err != nil {
			v.memory.reserve(-size)
		}
	}
	if err != nil {
		return state{}, fmt.Errorf("write variable %s: %w", n.path(), err)
	}
	v.offDisk(v.memory.insert(c))
	s, _ := v.memory.state(n)
	return v.grown(ctx, s)
}

func (v *Variables) putDurable(ctx context.Context, val value, typ Type, said bool, old state) (state, error) {
	n := val.name
	before := old.rev
	if old.cell != nil {
		before = ""
	}
	if err := v.label(ctx, n, typ, said, old.said && old.cell == nil, before); err != nil {
		return state{}, err
	}
	defer v.known.forget(n)
	o := backing.PutOptions{Mode: val.mode, ModTime: val.modTime}
	if val.first {
		o.If = backing.Absent
	}
	if old.cell != nil && o.Mode == 0 {
		o.Mode = old.mode
	}
	m, err := v.putFile(ctx, n, val.content, o)
	if err != nil {
		return state{}, err
	}
	if before == "" {
		m = v.own(ctx, val.by, m)
	}
	return v.described(ctx, n, m)
}

// label notes the type of the value that is about to replace the one at
// revision before, "" for none, where it does not follow from the key or
// where another one was said of the old value.
func (v *Variables) label(ctx context.Context, n name, typ Type, said, had bool, before backing.Revision) error {
	switch {
	case !said && !had && before != "":
		return nil
	case !said && before == "":
		return v.labels.drop(ctx, n)
	case typ == Stream:
		return v.labels.set(ctx, n, label{Type: typ, Stream: v.next(), Created: v.o.Now()}, before)
	}
	if before != "" {
		lab, _, err := v.labels.get(ctx, n, before)
		if err != nil || lab.Type == typ {
			return err
		}
	}
	return v.labels.set(ctx, n, label{Type: typ}, before)
}

// own gives a new file to whom it was made for.
func (v *Variables) own(ctx context.Context, c room.Caller, m backing.Meta) backing.Meta {
	if c.PID == 0 || m.UID == c.UID {
		return m
	}
	owned, err := v.store.SetAttr(ctx, m.Key, backing.AttrChange{UID: &c.UID, GID: &c.GID})
	if err != nil {
		v.o.Log.Warn("a new variable keeps the daemon's owner", "path", m.Key, "uid", c.UID, "err", err)
		return m
	}
	return owned
}
