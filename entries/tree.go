package entries

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// Stat implements [room.Room].
func (e *Entries) Stat(ctx context.Context, path string) (room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return room.Info{}, err
	}
	info, err := e.look(ctx, p)
	if err == nil && info.Kind == room.Object && e.hidden(path) {
		return room.Info{}, backing.ErrNotFound
	}
	return info, err
}

// look is Stat that sees hidden entries.
func (e *Entries) look(ctx context.Context, p place) (room.Info, error) {
	m, err := backing.StatCached(ctx, e.store, p.key())
	if errors.Is(err, backing.ErrNotFound) {
		if info, ok := e.pendingInfo(p.path); ok {
			return info, nil
		}
	}
	if err != nil {
		return room.Info{}, err
	}
	info, ok := p.info(m)
	if !ok {
		return room.Info{}, backing.ErrNotFound
	}
	return info, nil
}

// List implements [room.Room].
func (e *Entries) List(ctx context.Context, dir, after string, limit int) ([]room.Info, error) {
	p, err := placeOf(dir)
	if err != nil {
		return nil, err
	}
	if p.depth > 2 || p.depth == 1 && !agentName(p.name) || p.depth == 2 && !dirName(p.name) {
		return nil, backing.ErrNotFound
	}
	pending := e.pendingIn(dir, after)
	shown, last, err := e.listStore(ctx, dir, after, limit)
	if err != nil {
		return nil, err
	}
	for _, info := range pending {
		// Beyond the last name seen there may be more in the store first.
		if last != "" && info.Name > last {
			continue
		}
		if !slices.ContainsFunc(shown, func(i room.Info) bool { return i.Name == info.Name }) {
			shown = append(shown, info)
		}
	}
	slices.SortFunc(shown, func(a, b room.Info) int { return strings.Compare(a.Name, b.Name) })
	return shown[:min(len(shown), limit)], nil
}

// listStore returns what is shown of dir after a name, at least limit of it
// if there is as much. last is the last name it looked at, "" at the end of
// the directory.
func (e *Entries) listStore(ctx context.Context, dir, after string, limit int) (shown []room.Info, last string, err error) {
	for len(shown) < limit {
		page, err := backing.ListCached(ctx, e.store, backing.Key(dir), after, limit)
		if err != nil {
			return nil, "", err
		}
		for _, m := range page {
			name := m.Key.Name()
			p, err := placeOf(string(backing.Key(dir).Join(name)))
			if err != nil {
				continue // a name that this room never shows
			}
			info, ok := p.info(m)
			if ok && !(info.Kind == room.Object && e.hidden(p.path)) {
				shown = append(shown, info)
			}
		}
		if len(page) < limit {
			return shown, "", nil
		}
		after = page[len(page)-1].Key.Name()
	}
	return shown, after, nil
}

// KeepsVersions implements [room.Keeper].
func (e *Entries) KeepsVersions() {}

// Read implements [room.Room]. It also reads ordinary files, at their current
// revision.
func (e *Entries) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	p, err := placeOf(path)
	if err != nil {
		return nil, err
	}
	if p.checkFile() != nil && !p.isEntry() {
		return nil, backing.ErrNotFound
	}
	if isPendingRevision(rev) {
		return nothing{}, nil
	}
	c, err := e.store.Open(ctx, p.key(), rev)
	if errors.Is(err, backing.ErrNotFound) && rev == "" {
		if _, ok := e.pendingInfo(path); ok {
			return nothing{}, nil
		}
	}
	return c, err
}

// Readlink implements [room.Room].
func (e *Entries) Readlink(ctx context.Context, path string) (string, error) {
	info, err := e.Stat(ctx, path)
	if err != nil {
		return "", err
	}
	files, err := e.files()
	if err != nil {
		return "", err
	}
	if info.Kind != room.Link {
		return "", backing.ErrNotRegular
	}
	return files.Readlink(ctx, backing.Key(path))
}
