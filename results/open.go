package results

import (
	"context"
	"errors"
	"syscall"

	"ctxfs/backing"
	"ctxfs/room"
)

// Write implements [room.Room]: a draft of a result, or an ordinary file in
// place.
func (m *resultsRoom) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	if err := inRoom(path); err != nil {
		return nil, room.Info{}, err
	}
	switch {
	case path == listFile || m.r.store.ReadOnly() && writes(o):
		return nil, room.Info{}, backing.ErrReadOnly
	case isResult(path):
		return m.openDraft(c, path, o)
	}
	return m.openPlain(ctx, c, path, o)
}

func writes(o room.Create) bool {
	return o.New || o.Flags&(syscall.O_ACCMODE|syscall.O_TRUNC) != syscall.O_RDONLY
}

// openDraft begins a draft; what is not there yet is pending until its first
// commit.
func (m *resultsRoom) openDraft(c room.Caller, name string, o room.Create) (room.File, room.Info, error) {
	info, made, err := m.openInfo(c, name, o)
	if err != nil {
		return nil, room.Info{}, err
	}
	d := newDraft(m.r, c, info, made)
	if o.Flags&syscall.O_TRUNC != 0 && info.Size > 0 {
		if err := d.Truncate(0); err != nil {
			return nil, room.Info{}, errors.Join(err, d.Close())
		}
	}
	return d, info, nil
}

func (m *resultsRoom) openInfo(c room.Caller, name string, o room.Create) (info room.Info, made bool, err error) {
	if info, ok := m.r.index.info(name); ok {
		if o.New && o.Exclusive {
			return info, false, backing.ErrExists
		}
		return info, false, nil
	}
	if !o.New {
		return info, false, backing.ErrNotFound
	}
	if err := checkName(name); err != nil {
		return info, false, m.deny(c, err)
	}
	uid, gid := m.r.own.UID, m.r.own.GID
	if c.PID != 0 {
		uid, gid = c.UID, c.GID
	}
	info, made = m.r.index.addPending(name, o.Mode, uid, gid, m.r.o.Now())
	if !made && o.Exclusive {
		return info, false, backing.ErrExists
	}
	if made {
		m.r.watch.Changed(name, false)
	}
	return info, made, nil
}

// openPlain opens an ordinary file in place.
func (m *resultsRoom) openPlain(ctx context.Context, c room.Caller, name string, o room.Create) (room.File, room.Info, error) {
	files, ok := m.r.store.(backing.Files)
	if !ok {
		return nil, room.Info{}, syscall.ENOTSUP
	}
	_, err := m.r.store.Stat(ctx, key(name))
	missing := errors.Is(err, backing.ErrNotFound)
	flags := o.Flags &^ (syscall.O_CREAT | syscall.O_EXCL)
	if o.New {
		flags |= syscall.O_CREAT
		if o.Exclusive {
			flags |= syscall.O_EXCL
		}
	}
	f, err := files.OpenFile(ctx, key(name), flags, o.Mode.Perm())
	if err != nil {
		return nil, room.Info{}, err
	}
	meta, err := f.Stat()
	if err != nil {
		return nil, room.Info{}, errors.Join(err, f.Close())
	}
	meta.Key = key(name)
	if missing && c.PID != 0 && meta.UID != c.UID {
		meta, err = m.r.store.SetAttr(ctx, meta.Key, backing.AttrChange{UID: &c.UID, GID: &c.GID})
		if err != nil {
			return nil, room.Info{}, errors.Join(err, f.Close())
		}
	}
	info, _ := plainInfo(meta)
	return f, info, nil
}
