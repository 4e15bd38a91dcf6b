package entries

import (
	"context"

	"ctxfs/backing"
	"ctxfs/room"
)

// SetAttr implements [room.Room]: it changes what is stored, or pending, not
// what a draft will be. The bits beyond rwxrwxrwx are dropped.
func (e *Entries) SetAttr(ctx context.Context, _ room.Caller, path string, a backing.AttrChange) (room.Info, error) {
	p, err := placeOf(path)
	if err != nil {
		return room.Info{}, err
	}
	a = permOnly(a)
	defer e.paths.lock(path)()
	info, err := e.look(ctx, p)
	if err != nil {
		return room.Info{}, err
	}
	if isPendingRevision(info.Revision) {
		if info, ok := e.changePending(path, a); ok {
			return info, nil
		}
		return room.Info{}, backing.ErrNotFound
	}
	if a == (backing.AttrChange{}) {
		return info, nil
	}
	m, err := e.store.SetAttr(ctx, p.key(), a)
	if err != nil {
		return room.Info{}, err
	}
	for _, d := range e.draftsOf(path) {
		d.moved(info.Revision, m.Revision)
	}
	changed, ok := p.info(m)
	if !ok {
		return room.Info{}, backing.ErrNotFound
	}
	return changed, nil
}

func permOnly(a backing.AttrChange) backing.AttrChange {
	if a.Mode != nil {
		perm := a.Mode.Perm()
		a.Mode = &perm
	}
	return a
}

func (e *Entries) draftsOf(path string) []*draft {
	e.mu.Lock()
	defer e.mu.Unlock()
	var drafts []*draft
	for d := range e.drafts[path] {
		drafts = append(drafts, d)
	}
	return drafts
}
