package entries

import (
	"context"
	"errors"
	"syscall"

	"ctxfs/backing"
	"ctxfs/room"
)

// openTries bounds how often an open follows a name that appears and
// vanishes under it.
const openTries = 4

// Write implements [room.Room]: a draft of an entry, or an ordinary file in
// place. A new entry is pending until its first commit.
func (e *Entries) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return nil, room.Info{}, err
	}
	if p.depth == 0 {
		return nil, room.Info{}, backing.ErrIsDir
	}
	for range openTries {
		f, info, err := e.open(ctx, c, p, o)
		if !errors.Is(err, errAgain) {
			return f, info, err
		}
	}
	// Something lies there that is not shown: a symbolic link, a device.
	return nil, room.Info{}, backing.ErrExists
}

// errAgain: the name changed between two looks at it.
var errAgain = errors.New("the name has changed meanwhile")

func (e *Entries) open(ctx context.Context, c room.Caller, p place, o room.Create) (room.File, room.Info, error) {
	info, err := e.look(ctx, p)
	hidden := err == nil && info.Kind == room.Object && e.hidden(p.path)
	switch {
	case err != nil && !errors.Is(err, backing.ErrNotFound):
		return nil, info, err
	case !o.New && (err != nil || hidden):
		return nil, info, backing.ErrNotFound
	case err != nil:
		return e.create(ctx, c, p, o)
	case info.Kind == room.Dir:
		return nil, info, backing.ErrIsDir
	case o.New && o.Exclusive && !hidden:
		return nil, info, backing.ErrExists
	case info.Kind == room.Link:
		return nil, info, syscall.ELOOP
	case info.Kind == room.Plain:
		return e.openPlain(ctx, c, p, o, false)
	}
	if err := p.checkFile(); err != nil {
		return nil, info, e.deny(c, err)
	}
	if e.store.ReadOnly() {
		return nil, info, backing.ErrReadOnly
	}
	if hidden {
		// The new version of the dance begins: readers see the old one
		// until it is committed.
		e.show(p.path)
	}
	return e.newDraft(p, c, info, hidden || info.Size == 0), info, nil
}

// create makes what is not there yet.
func (e *Entries) create(ctx context.Context, c room.Caller, p place, o room.Create) (room.File, room.Info, error) {
	if err := p.checkFile(); err != nil {
		return nil, room.Info{}, e.deny(c, err)
	}
	if !p.isEntry() {
		return e.openPlain(ctx, c, p, o, true)
	}
	if e.store.ReadOnly() {
		return nil, room.Info{}, backing.ErrReadOnly
	}
	info, made, err := e.addPending(ctx, c, p, o.Mode, o.Exclusive)
	if errors.Is(err, backing.ErrExists) && !o.Exclusive {
		err = errAgain
	}
	if err != nil {
		return nil, info, err
	}
	d := e.newDraft(p, c, info, true)
	e.mu.Lock()
	d.made = d.made || made
	e.mu.Unlock()
	return d, info, nil
}

// openPlain opens an ordinary file in place; create says that it was missing.
func (e *Entries) openPlain(ctx context.Context, c room.Caller, p place, o room.Create, create bool) (room.File, room.Info, error) {
	files, err := e.files()
	if err != nil {
		return nil, room.Info{}, err
	}
	flags := o.Flags &^ (syscall.O_CREAT | syscall.O_EXCL)
	if o.New {
		flags |= syscall.O_CREAT
		if o.Exclusive {
			flags |= syscall.O_EXCL
		}
	}
	f, err := files.OpenFile(ctx, p.key(), flags, o.Mode.Perm())
	if err != nil {
		return nil, room.Info{}, err
	}
	m, err := f.Stat()
	if err != nil {
		return nil, room.Info{}, errors.Join(err, f.Close())
	}
	if create {
		m.Key = p.key()
		m = e.own(ctx, c, m)
	}
	info, ok := p.info(m)
	if !ok {
		return nil, room.Info{}, errors.Join(backing.ErrNotRegular, f.Close())
	}
	return f, info, nil
}

// files is the store's capability for ordinary files, or ENOTSUP.
func (e *Entries) files() (backing.Files, error) {
	f, ok := e.store.(backing.Files)
	if !ok {
		return nil, syscall.ENOTSUP
	}
	return f, nil
}
