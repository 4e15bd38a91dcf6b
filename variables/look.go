package variables

import (
	"context"
	"errors"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

func (v *Variables) stat(ctx context.Context, c room.Caller, p place) (room.Info, error) {
	if p.dir() {
		return v.dirInfo(ctx, p)
	}
	if p.in == listFile {
		return v.virtual(listFile, 0, v.o.Now()), nil
	}
	if p.in == summaryDir {
		s, _, err := v.summaryOf(ctx, c, p)
		return v.summaryInfo(p.key, &s), err
	}
	s, err := v.seen(ctx, c, p.name())
	if err != nil {
		return room.Info{}, err
	}
	if p.in == refDir && s.pending {
		return room.Info{}, backing.ErrNotFound
	}
	if p.in == refDir {
		return v.virtual(p.key, int64(len(s.ref().JSON()))+1, s.modTime), nil
	}
	info := s.info(v.files != nil)
	info.Volatile = p.scope == selfScope
	return info, nil
}

// virtual describes content that is made when it is read.
func (v *Variables) virtual(name string, size int64, at time.Time) room.Info {
	return room.Info{Name: name, Kind: room.Virtual, Size: size, ModTime: at, Mode: 0o444}.Own()
}

// summaryInfo describes a summary: who may read the variable may read it.
func (v *Variables) summaryInfo(name string, s *state) room.Info {
	info := v.virtual(name, 0, s.modTime)
	info.Mode, info.UID, info.GID = s.mode&0o444, s.uid, s.gid
	return info
}

func (v *Variables) dirInfo(ctx context.Context, p place) (room.Info, error) {
	info := room.Info{Kind: room.Dir, Mode: 0o755, ModTime: v.start}.Own()
	dir := backing.Key(roomDir)
	// A scope is listed from its first variable on, without a word from it.
	info.Volatile = p == place{}
	switch {
	case p.in != "":
		info.Name, info.Mode, info.Volatile = p.in, 0o555, true
		return info, nil
	case p.scope == selfScope:
		info.Name, info.Volatile = selfDir, true
		return info, nil
	case p.scope != "":
		info.Name = string(p.scope)
		dir = scopeDir(p.scope)
	}
	m, err := v.store.Stat(ctx, dir)
	switch {
	case err == nil && m.Dir:
		info.ModTime, info.Mode, info.UID, info.GID = m.ModTime, m.Mode, m.UID, m.GID
	case err == nil:
		return info, backing.ErrNotDir
	case !errors.Is(err, backing.ErrNotFound):
		return info, err
	}
	return info, nil
}

// seen describes the variable n as c sees it.
func (v *Variables) seen(ctx context.Context, c room.Caller, n name) (state, error) {
	if n.scope == selfScope {
		return v.find(ctx, c, n.key)
	}
	if CheckKey(n.key) != nil {
		return state{}, backing.ErrNotFound
	}
	return v.state(ctx, n)
}

func (v *Variables) list(ctx context.Context, c room.Caller, p place, after string, limit int) ([]room.Info, error) {
	switch {
	case !p.dir():
		return nil, backing.ErrNotDir
	case p.scope == "":
		return v.listTop(ctx, after, limit)
	}
	var states []state
	var err error
	if p.scope == selfScope {
		states, err = v.selfPage(ctx, c, after, limit)
	} else {
		states, err = v.page(ctx, p.scope, after, limit)
	}
	if err != nil {
		return nil, err
	}
	infos := make([]room.Info, len(states))
	for i := range states {
		s := &states[i]
		switch p.in {
		case refDir:
			infos[i] = v.virtual(s.name.key, int64(len(s.ref().JSON()))+1, s.modTime)
		case summaryDir:
			infos[i] = v.summaryInfo(s.name.key, s)
		default:
			infos[i] = s.info(v.files != nil)
			infos[i].Volatile = p.scope == selfScope
		}
	}
	return infos, nil
}

func (v *Variables) listTop(ctx context.Context, after string, limit int) ([]room.Info, error) {
	scopes, err := v.scopes(ctx)
	if err != nil {
		return nil, err
	}
	var infos []room.Info
	for _, s := range scopes {
		if string(s) <= after || len(infos) >= limit {
			continue
		}
		info, err := v.dirInfo(ctx, place{scope: s})
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func (v *Variables) readPlace(ctx context.Context, c room.Caller, p place, rev backing.Revision) (backing.Content, error) {
	switch {
	case p.dir():
		return nil, backing.ErrIsDir
	case p.in == listFile:
		return v.listContent(ctx, c, p.scope)
	case p.in == summaryDir:
		return v.summaryContent(ctx, c, p)
	}
	s, err := v.seen(ctx, c, p.name())
	if err != nil {
		return nil, err
	}
	if p.in == refDir && s.pending {
		return nil, backing.ErrNotFound
	}
	if p.in == refDir {
		return newBytes(append(s.ref().JSON(), '\n')), nil
	}
	return v.open(ctx, s.name, rev)
}
