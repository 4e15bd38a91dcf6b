package fusefs

import "ctxfs/room"

// everything makes the kernel ask for all it has below path.
func (t *notifier) everything(path string) {
	top := t.f.tree.at(path)
	if top == nil {
		return
	}
	below := map[uint64]*node{}
	for _, n := range t.f.tree.below(top) {
		below[n.id] = n
		n.changes.Add(1) // before the absent names are taken, see absent
	}
	for _, n := range below {
		if dir, name, p := t.f.tree.where(n); dir != nil && !t.stays(n, p) {
			t.forgetName(dir, name)
		}
		t.pages(n)
	}
	for s := range t.absentIn(below) {
		t.forgetName(below[s.dir], s.name)
	}
}

// stays reports whether n is a directory that is still there. Its name leads
// to it as before, and must not be dropped: for a process whose working
// directory it is that would be as if it had been removed, getcwd(2) fails.
func (t *notifier) stays(n *node, p place) bool {
	if n.describe().Kind != room.Dir {
		return false
	}
	info, err := p.room.Stat(t.f.ctx, p.path())
	return err == nil && n.become(info)
}

// mostAbsent is how many absent names the kernel may keep at once.
const mostAbsent = 1 << 17

// absent notes that the kernel is about to be told that there is no such name
// in dir, and reports whether it may keep that: no node stands for such a name,
// so it has to be remembered what is to be forgotten when all is. Called before
// dir's changes are looked at.
func (t *notifier) absent(dir *node, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slot{dir.id, name}
	if !t.none[at] && len(t.none) >= mostAbsent {
		for s := range t.none {
			if t.f.tree.get(s.dir) == nil {
				delete(t.none, s) // gone with its directory
			}
		}
		if len(t.none) >= mostAbsent {
			return false
		}
	}
	t.none[at] = true
	return true
}

// absentIn are the absent names in directories.
func (t *notifier) absentIn(dirs map[uint64]*node) map[slot]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := map[slot]bool{}
	for s := range t.none {
		if dirs[s.dir] != nil {
			in[s] = true
		}
	}
	return in
}
