package cache

import "ctxfs/backing"

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
