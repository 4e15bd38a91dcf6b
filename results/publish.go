package results

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

// body is a content on its way to become a result.
type body interface {
	io.ReaderAt
	Size() int64 // bytes
}

func reader(b body) io.Reader { return io.NewSectionReader(b, 0, b.Size()) }

// save says what becomes a result, and of whom.
type save struct {
	name    string
	body    body
	by      room.Caller
	mode    fs.FileMode
	modTime time.Time // zero is now
	fresh   bool      // its pending name must still be there: a removed file comes not back
	free    bool      // no result of that name may be there
}

// publish checks s and makes it the result of its name. Readers see the old
// one until it returns; nil is returned for a fresh save that was removed
// meanwhile.
func (r *Results) publish(ctx context.Context, s save) (*record, error) {
	if r.store.ReadOnly() {
		return nil, backing.ErrReadOnly
	}
	l, err := Check(s.name, reader(s.body))
	if err != nil {
		return nil, err
	}
	defer r.names.lock(s.name)()
	old := r.index.get(s.name)
	switch {
	case s.fresh && old == nil && !r.index.isPending(s.name):
		return nil, nil
	case s.free && old != nil:
		return nil, backing.ErrExists
	}
	rec, err := r.place(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", path(s.name), err)
	}
	rec.listed = l
	r.dress(rec, s, old)
	r.replace(ctx, rec)
	r.dropReject(ctx, s.name)
	r.watch.Changed(s.name, false)
	return rec, nil
}

// place keeps the content, in memory or on disk.
func (r *Results) place(ctx context.Context, s save) (*record, error) {
	rec := &record{name: s.name, size: s.body.Size()}
	if rec.size < MemoryBelow && r.index.reserve(rec.size) {
		rec.data = make([]byte, rec.size)
		if _, err := io.ReadFull(reader(s.body), rec.data); err != nil {
			r.index.release(rec.size)
			return nil, err
		}
		return rec, nil
	}
	m, err := r.store.Put(ctx, key(s.name), reader(s.body), backing.PutOptions{Mode: 0o600}) // who may read it is known here only
	rec.disk = m.Revision
	return rec, err
}

// dress gives rec its mode, owner and time.
func (r *Results) dress(rec *record, s save, old *record) {
	rec.mode, rec.uid, rec.gid = s.mode.Perm(), r.own.UID, r.own.GID
	if s.by.PID != 0 {
		rec.uid, rec.gid = s.by.UID, s.by.GID
	}
	if p, ok := r.index.info(s.name); ok {
		rec.mode, rec.uid, rec.gid = p.Mode, p.UID, p.GID
	}
	if rec.modTime = s.modTime; rec.modTime.IsZero() {
		rec.modTime = r.o.Now()
	}
}

// replace puts rec in the place of what was there.
func (r *Results) replace(ctx context.Context, rec *record) {
	old := r.index.put(rec)
	if old == nil || old.disk == "" || rec.disk != "" {
		return
	}
	if err := r.unlink(context.WithoutCancel(ctx), key(rec.name)); err != nil {
		r.o.Log.Warn("an overwritten result stays on disk until the next start", "path", path(rec.name), "err", err)
	}
}

// remove ends the result of a name.
func (r *Results) remove(ctx context.Context, name string) error {
	defer r.names.lock(name)()
	rec := r.index.get(name)
	if rec != nil && rec.disk != "" {
		if err := r.unlink(ctx, key(name)); err != nil {
			return err
		}
	}
	if _, ok := r.index.remove(name, r.o.Now()); !ok {
		return backing.ErrNotFound
	}
	r.watch.Changed(name, false)
	return nil
}

// nameLocks is one mutex for each name in use. It is held across calls to the
// store.
type nameLocks struct {
	mu    sync.Mutex // guards locks and the count in each
	locks map[string]*nameLock
}

type nameLock struct {
	sync.Mutex
	users int
}

// lock waits for name's turn and returns what gives it up.
func (l *nameLocks) lock(name string) (unlock func()) {
	l.mu.Lock()
	if l.locks == nil {
		l.locks = map[string]*nameLock{}
	}
	n := l.locks[name]
	if n == nil {
		n = &nameLock{}
		l.locks[name] = n
	}
	n.users++
	l.mu.Unlock()
	n.Lock()
	return func() {
		n.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if n.users--; n.users == 0 {
			delete(l.locks, name)
		}
	}
}
