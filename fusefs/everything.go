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
		n.changes.Add(1) // before the absent names are taken, see tree.absent
	}
	for _, n := range below {
		if dir, name, p := t.f.tree.where(n); dir != nil && !t.stays(n, p) {
			t.forgetName(dir, name)
		}
		t.pages(n)
	}
	for _, dir := range below {
		for _, name := range t.f.tree.absentIn(dir) {
			t.forgetName(dir, name)
		}
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
