package cache

import (
	"slices"
	"strings"

	"ctxfs/backing"
)

// Filling is a listing on its way from the store. One goroutine has it.
type Filling struct {
	l       *Listings
	dir     backing.Key
	members []*member

	// Guarded by l.mu.
	marked map[string]Mark // members of which was heard since it began
	void   bool            // the directory itself was
}

// Fill begins a listing of dir, which is read from the store from now on, and
// ends with Done or Cancel. It is nil where one is on its way already.
func (l *Listings) Fill(dir backing.Key) *Filling {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.filling {
		if f.dir == dir {
			return nil
		}
	}
	f := &Filling{l: l, dir: dir, marked: map[string]Mark{}}
	l.filling[f] = true
	return f
}

// Add adds the next page of members, in order. It is false where the directory
// is too large to be kept: then Cancel ends it.
func (f *Filling) Add(page []backing.Meta) bool {
	for _, m := range page {
		f.members = append(f.members, &member{name: m.Key.Name(), meta: m, known: true})
	}
	// One directory shall not be all that there is room for.
	return len(f.members) <= f.l.most/2
}

// Done puts the listing in its place.
func (f *Filling) Done() {
	l := f.l
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.filling, f)
	if f.void {
		return
	}
	if old := l.dirs[f.dir]; old != nil {
		l.drop(old)
	}
	d := &listing{dir: f.dir, members: f.members}
	d.used = l.recent.PushBack(d)
	l.dirs[f.dir] = d
	l.members += len(d.members)
	delete(l.asked, f.dir)
	for name, at := range f.marked {
		l.doubt(d, name, at)
	}
	l.shrink()
}

// Cancel ends a listing that could not be read, or is too large; then nobody
// will want it for long.
func (f *Filling) Cancel(tooLarge bool) {
	l := f.l
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.filling, f)
	if tooLarge {
		l.asked[f.dir] = never
	}
}

// Doubtful is a member of a listing that is unknown.
type Doubtful struct {
	Key  backing.Key
	Mark Mark
}

// Page returns at most limit members of dir with names greater than after, as
// a store lists them; or those members that have to be learned first. listed is
// false where the directory is not here.
func (l *Listings) Page(dir backing.Key, after string, limit int) (page []backing.Meta, first []Doubtful, listed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.use(dir)
	if d == nil {
		return nil, nil, false
	}
	if d.unknown > 0 {
		for _, m := range d.members {
			if !m.known {
				first = append(first, Doubtful{dir.Join(m.name), m.mark})
			}
		}
		return nil, first, true
	}
	i, found := slices.BinarySearchFunc(d.members, after, func(m *member, name string) int { return strings.Compare(m.name, name) })
	if found {
		i++
	}
	for _, m := range d.members[i:min(len(d.members), i+max(limit, 0))] {
		page = append(page, m.meta)
	}
	return page, nil, true
}

// Around returns objects of key's directory that take at most size bytes
// together, of those that want wants: that at key, and those that follow it in
// the order of names, after the last one again from the first on.
func (l *Listings) Around(key backing.Key, most int, size int64, want func(backing.Meta) bool) []backing.Meta {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.use(key.Dir())
	if d == nil {
		return nil
	}
	at, _ := d.find(key.Name())
	var found []backing.Meta
	for n := range d.members {
		m := d.members[(at+n)%len(d.members)]
		if !m.known || m.meta.Dir || !want(m.meta) {
			continue
		}
		if size -= m.meta.Size; size < 0 || len(found) == most {
			break
		}
		found = append(found, m.meta)
	}
	return found
}
