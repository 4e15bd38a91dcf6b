package cache

import (
	"container/list"
	"math"
	"slices"
	"strings"
	"sync"

	"ctxfs/backing"
)

// Mark is a moment in the life of a [Listings]: greater is later.
type Mark uint64

// State is what is known of a key.
type State int

const (
	Unlisted State = iota // nothing: its directory is not here
	Wanted                // nothing, and its directory was asked for so often that it is worth listing
	Unknown               // there may be something, and it may have changed
	Absent                // there is nothing
	Known                 // what there is
)

const (
	// worthListing is the look into a directory that is worth a listing of it.
	worthListing = 3
	// mostAsked is of how many directories looks are counted.
	mostAsked = 4096
	// mostUnknown is how many members of a listing may be unknown; with more of
	// them it is thrown away.
	mostUnknown = 512
)

// Listings are directories with the metadata of all their members. Safe for
// concurrent use.
type Listings struct {
	most int // members of all listings

	mu      sync.Mutex // guards what follows
	clock   Mark
	dirs    map[backing.Key]*listing
	recent  *list.List // of *listing, the least recently used first
	members int
	filling map[*Filling]bool
	asked   map[backing.Key]int // looks into directories that are not here
}

// listing is a directory with all its members.
type listing struct {
	dir     backing.Key
	members []*member // sorted by name
	unknown int       // of them
	used    *list.Element
}

// member is a name in a directory, where something stands or, while it is
// unknown, may stand.
type member struct {
	name  string
	meta  backing.Meta
	known bool
	mark  Mark // the last one
}

// NewListings returns listings that together have at most that many members,
// each of which takes some 300 bytes.
func NewListings(most int) *Listings {
	return &Listings{most: most, dirs: map[backing.Key]*listing{}, recent: list.New(),
		filling: map[*Filling]bool{}, asked: map[backing.Key]int{}}
}

func (d *listing) find(name string) (int, *member) {
	i, found := slices.BinarySearchFunc(d.members, name, func(m *member, name string) int { return strings.Compare(m.name, name) })
	if !found {
		return i, nil
	}
	return i, d.members[i]
}

// Look says what is known of key. The mark is that of an Unknown one, for
// [Listings.Learn].
func (l *Listings) Look(key backing.Key) (backing.Meta, Mark, State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.use(key.Dir())
	if d == nil {
		return backing.Meta{}, 0, l.ask(key.Dir())
	}
	switch _, m := d.find(key.Name()); {
	case m == nil:
		return backing.Meta{}, 0, Absent
	case !m.known:
		return backing.Meta{}, m.mark, Unknown
	default:
		return m.meta, m.mark, Known
	}
}

// use returns the listing of dir, nil where it is not here. l.mu is held.
func (l *Listings) use(dir backing.Key) *listing {
	d := l.dirs[dir]
	if d != nil {
		l.recent.MoveToBack(d.used)
	}
	return d
}

func (l *Listings) ask(dir backing.Key) State {
	if len(l.asked) >= mostAsked {
		clear(l.asked)
	}
	l.asked[dir]++
	if l.asked[dir] < worthListing {
		return Unlisted
	}
	l.asked[dir] = 0
	return Wanted
}

// Mark notes that key was changed, or is about to be: nothing is known of it
// any more, nor of what lies directly below it.
func (l *Listings) Mark(key backing.Key) Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mark(key)
}

func (l *Listings) mark(key backing.Key) Mark {
	l.clock++
	dir, name := key.Dir(), key.Name()
	for f := range l.filling {
		switch f.dir {
		case dir:
			f.marked[name] = l.clock
		case key:
			f.void = true
		}
	}
	if d := l.dirs[key]; d != nil {
		l.drop(d)
	}
	if d := l.dirs[dir]; d != nil {
		l.doubt(d, name, l.clock)
	}
	return l.clock
}

// doubt makes name unknown in d.
func (l *Listings) doubt(d *listing, name string, at Mark) {
	i, m := d.find(name)
	if m == nil {
		m = &member{name: name, known: true}
		d.members = slices.Insert(d.members, i, m)
		l.members++
	}
	if m.known {
		m.known, m.meta = false, backing.Meta{}
		d.unknown++
	}
	m.mark = at
	if d.unknown > mostUnknown {
		l.drop(d)
	}
	l.shrink()
}

// Learn notes what a reading of key has found, nil for nothing, that began when
// Look said that the key was Unknown, with this mark.
func (l *Listings) Learn(key backing.Key, mark Mark, found *backing.Meta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.dirs[key.Dir()]
	if d == nil {
		return
	}
	i, m := d.find(key.Name())
	if m == nil || m.known || m.mark != mark {
		return
	}
	d.unknown--
	if found == nil {
		d.members = slices.Delete(d.members, i, i+1)
		l.members--
		return
	}
	m.meta, m.known = *found, true
}

// Settle notes the end of a write that was marked when it began: what it left
// under key, or nil where nobody can say.
func (l *Listings) Settle(key backing.Key, mark Mark, left *backing.Meta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.dirs[key.Dir()]
	if d != nil && left != nil {
		if _, m := d.find(key.Name()); m != nil && m.mark == mark {
			if !m.known {
				d.unknown--
			}
			m.meta, m.known = *left, true
			return
		}
	}
	// It was marked since, by another write or by what was heard: which one
	// came last only the store knows.
	l.mark(key)
}

// Clear forgets everything: changes may have been missed.
func (l *Listings) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	for f := range l.filling {
		f.void = true
	}
	clear(l.dirs)
	clear(l.asked)
	l.recent.Init()
	l.members = 0
}

// drop forgets a listing. l.mu is held.
func (l *Listings) drop(d *listing) {
	if l.dirs[d.dir] != d {
		return
	}
	delete(l.dirs, d.dir)
	l.recent.Remove(d.used)
	l.members -= len(d.members)
}

// shrink drops listings until they are not too large. l.mu is held.
func (l *Listings) shrink() {
	for l.members > l.most {
		d, ok := l.recent.Front().Value.(*listing)
		if !ok {
			panic("no listing") // nothing else is in the list
		}
		l.drop(d)
	}
}

// never is of directories that are too large to be listed.
const never = math.MinInt32
