package fusefs

import (
	"maps"
	"slices"
)

// mostAbsent is how many absent names the kernel may keep at once.
const mostAbsent = 1 << 17

// absences are the names that the kernel keeps as absent, by directory. No node
// stands for such a name, so it has to be remembered what is to be forgotten
// when all is. Guarded by tree.mu.
type absences struct {
	names map[uint64]map[string]bool
	count int
}

// absent notes that the kernel is about to be told that there is no such name
// in dir, and reports whether it may keep that. Called before dir's changes are
// looked at.
func (t *tree) absent(dir *node, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := &t.none
	in := a.names[dir.id]
	switch {
	case in[name]:
		return true
	case a.count >= mostAbsent || t.nodes[dir.id] != dir:
		return false
	case in == nil:
		in = map[string]bool{}
		a.names[dir.id] = in
	}
	in[name] = true
	a.count++
	return true
}

// present takes back what absent noted.
func (t *tree) present(dir *node, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.none.end(dir.id, name)
}

// absentIn returns the absent names in dir.
func (t *tree) absentIn(dir *node) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.none.names[dir.id]))
}

func (a *absences) end(dir uint64, name string) {
	in := a.names[dir]
	if !in[name] {
		return
	}
	a.count--
	if delete(in, name); len(in) == 0 {
		delete(a.names, dir)
	}
}

// forget drops the names of a directory that the kernel has forgotten.
func (a *absences) forget(dir uint64) {
	a.count -= len(a.names[dir])
	delete(a.names, dir)
}
