package variables

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"ctxfs/backing"
)

// drafts are the open drafts, and the variables that exist only as such: made
// by an open for writing, visible with size 0, gone if nothing is committed.
type drafts struct {
	mu    sync.Mutex // guards all below, and draft.name and draft.gone
	open  map[name]map[*draft]bool
	fresh map[name]*state
	count uint64
}

func newDrafts() *drafts {
	return &drafts{open: map[name]map[*draft]bool{}, fresh: map[name]*state{}}
}

// pending describes n if it is only being written.
func (ds *drafts) pending(n name) (state, bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if s := ds.fresh[n]; s != nil {
		return *s, true
	}
	return state{}, false
}

// begin makes n a variable that is only being written, unless it is one.
func (ds *drafts) begin(n name, mode fs.FileMode, uid, gid uint32, at time.Time) state {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if s := ds.fresh[n]; s != nil {
		return *s
	}
	ds.count++
	s := &state{name: n, modTime: at, created: at, mode: mode, uid: uid, gid: gid, typ: typeOfKey(n.key),
		rev: backing.Revision(fmt.Sprintf("pending-%d", ds.count)), pending: true}
	ds.fresh[n] = s
	return *s
}

func (ds *drafts) add(d *draft) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.addLocked(d)
}

func (ds *drafts) addLocked(d *draft) {
	if ds.open[d.name] == nil {
		ds.open[d.name] = map[*draft]bool{}
	}
	ds.open[d.name][d] = true
}

// remove ends d, and its variable if that was only being written by d.
func (ds *drafts) remove(d *draft) (n name, vanished bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	n = d.name
	all := ds.open[n]
	if !all[d] {
		return n, false // unlinked
	}
	if delete(all, d); len(all) > 0 {
		return n, false
	}
	delete(ds.open, n)
	_, vanished = ds.fresh[n]
	delete(ds.fresh, n)
	return n, vanished
}

// committed notes that n is a variable now.
func (ds *drafts) committed(n name) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	delete(ds.fresh, n)
}

// unlink cuts the drafts of n off from the name: as with a file that was
// removed while it was open, what is written to them goes nowhere.
func (ds *drafts) unlink(n name) (pending bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.unlinkLocked(n)
}

func (ds *drafts) unlinkLocked(n name) (pending bool) {
	for d := range ds.open[n] {
		d.gone = true
	}
	delete(ds.open, n)
	_, pending = ds.fresh[n]
	delete(ds.fresh, n)
	return pending
}

// move lets the drafts of from follow it to another name.
func (ds *drafts) move(from, to name) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.unlinkLocked(to)
	for d := range ds.open[from] {
		d.name = to
		ds.addLocked(d)
	}
	delete(ds.open, from)
}

// of returns the drafts of n.
func (ds *drafts) of(n name) []*draft {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	all := make([]*draft, 0, len(ds.open[n]))
	for d := range ds.open[n] {
		all = append(all, d)
	}
	return all
}

// where is the name that d leads to; gone if to none.
func (ds *drafts) where(d *draft) (n name, gone bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return d.name, d.gone
}

// commit publishes what is written but not yet closed of n: a program may
// rename its temporary file before it closes it.
func (ds *drafts) commit(ctx context.Context, n name) error {
	for _, d := range ds.of(n) {
		if err := d.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// list returns variables of scope that are only being written.
func (ds *drafts) list(scope Scope, after string, limit int) []state {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	var all []state
	for n, s := range ds.fresh {
		if n.scope == scope && n.key > after {
			all = append(all, *s)
		}
	}
	slices.SortFunc(all, func(a, b state) int {
		if a.name.key < b.name.key {
			return -1
		}
		return 1
	})
	return all[:min(limit, len(all))]
}

func (ds *drafts) scopes() []Scope {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	var all []Scope
	for n := range ds.fresh {
		all = append(all, n.scope)
	}
	return all
}
