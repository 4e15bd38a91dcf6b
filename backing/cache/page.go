package cache

import (
	"slices"
	"strings"

	"ctxfs/backing"
)

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

// Around returns at most that many objects of key's directory, which take at
// most size bytes together, of those that want wants: that at key, and some that
// follow it in the order of names, after the last one again from the first on.
func (l *Listings) Around(key backing.Key, most int, size int64, want func(backing.Meta) bool) []backing.Meta {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.use(key.Dir())
	if d == nil {
		return nil
	}
	at, _ := d.find(key.Name())
	var found []backing.Meta
	for n := range min(len(d.members), 4*most) { // others wait for l.mu
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
