package results

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

// record is one result. It never changes: another content or other metadata
// is another record.
type record struct {
	name     string
	listed   Listed
	order    uint64 // by which the list is sorted; an overwritten result keeps it
	content  uint64 // counts contents
	attr     uint64 // counts changes of metadata of one content
	size     int64
	mode     fs.FileMode
	uid, gid uint32
	modTime  time.Time
	data     []byte           // the content in memory
	disk     backing.Revision // of the file in the store; "" while in memory
}

func (r *record) revision() backing.Revision {
	return backing.Revision(fmt.Sprintf("%d.%d", r.content, r.attr))
}

func (r *record) info() room.Info {
	return room.Info{Name: r.name, Kind: room.Object, Size: r.size, ModTime: r.modTime, Mode: r.mode,
		UID: r.uid, GID: r.gid, Revision: r.revision()}
}

// index knows every result, those in memory with their content, and the empty
// files that may become results. No lock but its own is taken while its is
// held, and no call goes to the store.
type index struct {
	mu      sync.Mutex // guards all
	records map[string]*record
	pending map[string]room.Info
	rejects map[string]bool // names of refused drafts that this room left
	drafts  map[string]int  // how many are open, by name
	sorted  []string        // of records and pending; nil after one came or went
	count   uint64
	memory  int64 // bytes of data, and of what was reserved
	most    int64 // of memory
	disk    int64 // bytes on disk
	changed time.Time
}

func (x *index) init(most int64, now time.Time) {
	x.records, x.pending = map[string]*record{}, map[string]room.Info{}
	x.rejects, x.drafts = map[string]bool{}, map[string]int{}
	x.most, x.changed = most, now
}

func (x *index) get(name string) *record {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.records[name]
}

// info describes a result or a pending one.
func (x *index) info(name string) (room.Info, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.infoLocked(name)
}

func (x *index) infoLocked(name string) (room.Info, bool) {
	if r := x.records[name]; r != nil {
		return r.info(), true
	}
	info, ok := x.pending[name]
	return info, ok
}

// reserve takes size bytes of the memory, if there are as many left.
func (x *index) reserve(size int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.memory+size > x.most {
		return false
	}
	x.memory += size
	return true
}

func (x *index) release(size int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.memory -= size
}

// put makes r the result of its name. What it has in memory was reserved. It
// returns the record that it replaces, nil for none.
func (x *index) put(r *record) (old *record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count++
	r.content, r.order = x.count, x.count
	old = x.records[r.name]
	if old != nil {
		r.order = old.order
		x.drop(old)
	} else {
		x.sorted = nil
	}
	delete(x.pending, r.name)
	x.records[r.name] = r
	if r.disk != "" {
		x.disk += r.size
	}
	x.changed = r.modTime
	return old
}

// drop takes r out of the accounts.
func (x *index) drop(r *record) {
	if r.disk != "" {
		x.disk -= r.size
	} else {
		x.memory -= r.size
	}
}

// remove ends the result or pending one of a name.
func (x *index) remove(name string, now time.Time) (old *record, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old = x.records[name]
	if old != nil {
		x.drop(old)
	}
	_, pending := x.pending[name]
	if old == nil && !pending {
		return nil, false
	}
	delete(x.records, name)
	delete(x.pending, name)
	x.sorted, x.changed = nil, now
	return old, true
}

func (x *index) clear(now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.records {
		x.drop(r)
	}
	clear(x.records)
	clear(x.pending)
	clear(x.rejects)
	x.sorted, x.changed = nil, now
}

// list returns at most limit results and pending ones with names greater than
// after.
func (x *index) list(after string, limit int) []room.Info {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sorted == nil {
		x.sorted = make([]string, 0, len(x.records)+len(x.pending))
		for name := range x.records {
			x.sorted = append(x.sorted, name)
		}
		for name := range x.pending {
			x.sorted = append(x.sorted, name)
		}
		slices.Sort(x.sorted)
	}
	i, found := slices.BinarySearch(x.sorted, after)
	if found {
		i++
	}
	var infos []room.Info
	for ; i < len(x.sorted) && len(infos) < limit; i++ {
		if info, ok := x.infoLocked(x.sorted[i]); ok {
			infos = append(infos, info)
		}
	}
	return infos
}

// of returns the results of a session, or of all for "", the oldest first.
func (x *index) of(sessionID string) []*record {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []*record
	for _, r := range x.records {
		if sessionID == "" || r.listed.SessionID == sessionID {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.order, b.order) })
	return all
}

func (x *index) status() Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := Status{Results: len(x.records), MemoryBytes: x.memory, DiskBytes: x.disk}
	for _, r := range x.records {
		if r.disk == "" {
			s.InMemory++
		}
	}
	return s
}

// lastChange is when a name last came, went or got another content.
func (x *index) lastChange() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}
