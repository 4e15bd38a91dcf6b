package variables

import (
	"container/list"
	"io/fs"
	"slices"
	"sync"
	"time"

	"ctxfs/backing"
)

// cell is one value of a session variable. Its content never changes; another
// value is another cell. A stream's content is a file and grows.
type cell struct {
	name    name
	typ     Type
	said    bool
	size    int64
	created time.Time
	id      string

	// Guarded by memory.mu.
	data     []byte      // the content while it is in memory; the bytes never change
	disk     backing.Key // where it lies on disk, "" while in memory
	modTime  time.Time
	mode     fs.FileMode
	uid, gid uint32
	rev      backing.Revision
	use      *list.Element // in memory.uses while data is in memory
}

// memory holds the session variables.
type memory struct {
	mu      sync.RWMutex // guards everything here and in the cells
	shelves map[Scope]*shelf
	uses    list.List // cells with data, the least recently used first
	bytes   int64     // of data, and of what is just being set
	disk    Status    // Spilled and SpilledBytes
}

// shelf is one session.
type shelf struct {
	cells  map[string]*cell
	sorted []string // its keys, nil after one came or went
}

func newMemory() *memory { return &memory{shelves: map[Scope]*shelf{}} }

func (m *memory) get(n name) *cell {
	if s := m.shelves[n.scope]; s != nil {
		return s.cells[n.key]
	}
	return nil
}

func (m *memory) state(n name) (state, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if c := m.get(n); c != nil {
		return c.state(), true
	}
	return state{}, false
}

// ref is the fast way to a handle. Streams, whose size is on disk, have none.
func (m *memory) ref(n name) (Ref, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := m.get(n)
	if c == nil || c.typ == Stream {
		return Ref{}, false
	}
	return Ref{ID: c.id, Key: n.key, Scope: n.scope, Type: c.typ, SizeBytes: c.size, Created: stamp(c.created)}, true
}

// state is what is known of c; memory.mu is held.
func (c *cell) state() state {
	return state{name: c.name, size: c.size, modTime: c.modTime, created: c.created, mode: c.mode, uid: c.uid, gid: c.gid,
		rev: c.rev, id: c.id, typ: c.typ, said: c.said, cell: c, spilled: c.disk != ""}
}

// reserve counts size bytes as used, before they are.
func (m *memory) reserve(size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += size
}

// insert makes c the value of its name. What c has in memory was reserved.
// It returns where a replaced value lies on disk, "" for nowhere.
func (m *memory) insert(c *cell) (left backing.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.insertLocked(c)
}

func (m *memory) insertLocked(c *cell) (left backing.Key) {
	s := m.shelves[c.name.scope]
	if s == nil {
		s = &shelf{cells: map[string]*cell{}}
		m.shelves[c.name.scope] = s
	}
	if old := s.cells[c.name.key]; old != nil {
		left = m.drop(old)
	} else {
		s.sorted = nil
	}
	s.cells[c.name.key] = c
	if c.disk == "" {
		c.use = m.uses.PushBack(c)
	} else {
		m.disk.Spilled++
		m.disk.SpilledBytes += c.size
	}
	return left
}

// drop takes c out of the accounts.
func (m *memory) drop(c *cell) (left backing.Key) {
	if c.use != nil {
		m.uses.Remove(c.use)
		m.bytes -= int64(len(c.data))
		c.use = nil
	}
	if c.disk != "" {
		m.disk.Spilled--
		m.disk.SpilledBytes -= c.size
	}
	return c.disk
}

// remove takes away the value of n, where it is c, or any for nil.
func (m *memory) remove(n name, c *cell) (left backing.Key, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.get(n)
	if old == nil || c != nil && c != old {
		return "", false
	}
	s := m.shelves[n.scope]
	delete(s.cells, n.key)
	s.sorted = nil
	if len(s.cells) == 0 {
		delete(m.shelves, n.scope)
	}
	return m.drop(old), true
}

// removeScope takes away all of a session, and returns what it was.
func (m *memory) removeScope(scope Scope) (keys []string, left []backing.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shelves[scope]
	if s == nil {
		return nil, nil
	}
	delete(m.shelves, scope)
	for key, c := range s.cells {
		keys = append(keys, key)
		if at := m.drop(c); at != "" {
			left = append(left, at)
		}
	}
	return keys, left
}

func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shelves = map[Scope]*shelf{}
	for e := m.uses.Front(); e != nil; e = e.Next() {
		m.bytes -= int64(len(e.Value.(*cell).data))
	}
	m.uses.Init()
	m.disk = Status{}
}

// list returns at most limit variables of scope with keys greater than after.
func (m *memory) list(scope Scope, after string, limit int) []state {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shelves[scope]
	if s == nil || limit <= 0 {
		return nil
	}
	if s.sorted == nil {
		s.sorted = make([]string, 0, len(s.cells))
		for key := range s.cells {
			s.sorted = append(s.sorted, key)
		}
		slices.Sort(s.sorted)
	}
	i, found := slices.BinarySearch(s.sorted, after)
	if found {
		i++
	}
	page := make([]state, 0, min(limit, len(s.sorted)-i))
	for ; i < len(s.sorted) && len(page) < limit; i++ {
		page = append(page, s.cells[s.sorted[i]].state())
	}
	return page
}

func (m *memory) scopes() []Scope {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]Scope, 0, len(m.shelves))
	for s := range m.shelves {
		all = append(all, s)
	}
	return all
}

func (m *memory) status() Status {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.disk
	s.MemoryBytes = m.bytes
	for _, shelf := range m.shelves {
		s.Variables += len(shelf.cells)
	}
	return s
}

// change gives c other metadata, if it is still the value of its name.
func (m *memory) change(c *cell, a backing.AttrChange, rev backing.Revision) (state, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.get(c.name) != c {
		return state{}, false
	}
	if a.Mode != nil {
		c.mode = a.Mode.Perm()
	}
	if a.ModTime != nil {
		c.modTime = *a.ModTime
	}
	if a.UID != nil {
		c.uid = *a.UID
	}
	if a.GID != nil {
		c.gid = *a.GID
	}
	c.rev = rev
	return c.state(), true
}
