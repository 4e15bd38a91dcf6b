package fusefs

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"ctxfs/room"
)

// tree is every node that the kernel knows, and which of them a name leads
// to. A node lives from its first LOOKUP to the FORGET of its last one.
type tree struct {
	mu     sync.Mutex // guards everything here and node.{name,path,dir,lookups}
	nodes  map[uint64]*node
	named  map[slot]*node // what a LOOKUP of the name answers
	lastID uint64
	root   *node
	seed   string // of file numbers: where the mount is
	none   absences
}

// slot is a name in a directory.
type slot struct {
	dir  uint64
	name string
}

func newTree(root *node, seed string) *tree {
	t := &tree{nodes: map[uint64]*node{}, named: map[slot]*node{}, root: root, lastID: 1, seed: seed, none: absences{names: map[uint64]map[string]bool{}}}
	root.id, root.lookups, root.tree = 1, 1, t
	t.nodes[1] = root
	return t
}

// get returns a node that the kernel named, nil if it is not known.
func (t *tree) get(id uint64) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes[id]
}

// lookup returns the node for what info says stands under name in dir,
// counted as looked up once more: the known one where it is still the same
// thing, else a new one in its place. A file of lines that somebody has open to
// write is yet another node for the next one, which the name does not keep: the
// kernel lets only one append to a node at a time, and they would wait for each
// other's syncs, one by one.
func (t *tree) lookup(dir *node, name string, p place, info room.Info) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.named[slot{dir.id, name}]
	if known != nil && (known.place.room != p.room || !known.become(info)) {
		known = nil
	}
	if known != nil && !(info.Lines && known.writing()) {
		known.lookups++
		return known
	}
	name = p.full[len(p.full)-len(name):] // one string for all of them
	info.Name = name
	n := &node{dir: dir, name: name, place: p, info: info}
	t.add(n)
	if known == nil {
		t.named[slot{dir.id, name}] = n
	}
	return n
}

// add gives n an id and counts it as looked up once. t.mu is held.
func (t *tree) add(n *node) {
	t.lastID++
	n.id, n.lookups, n.tree = t.lastID, 1, t
	t.nodes[n.id] = n
	t.none.end(n.dir.id, n.name)
}

// unnamed adds a node that no LOOKUP finds: that of a draft. Who adds it has
// looked it up once, and takes that back if the kernel does not.
func (t *tree) unnamed(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(n)
}

func (t *tree) again(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.lookups++
	t.nodes[n.id] = n
}

// find returns the node that name leads to, nil where none is known.
func (t *tree) find(dir *node, name string) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.named[slot{dir.id, name}]
}

// forget takes back count lookups. The last one ends the node.
func (t *tree) forget(id, count uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[id]
	if n == nil || n == t.root {
		return
	}
	if count < n.lookups {
		n.lookups -= count
		return
	}
	n.lookups = 0
	delete(t.nodes, id)
	t.none.forget(id)
	t.unname(n)
}

// settle makes the node of a draft that has ended the node of the version
// that was committed, if its name leads to no other: the kernel, which knows
// the name by it, then has nothing to learn.
func (t *tree) settle(n *node, info room.Info) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := slot{n.dir.id, n.name}
	if t.named[s] != nil || t.nodes[n.id] != n {
		return
	}
	n.mu.Lock()
	n.draft, n.info, n.wasDraft = nil, info, true
	n.mu.Unlock()
	t.named[s] = n
}

// unname takes n's name from it; a LOOKUP will make another node. t.mu is
// held.
func (t *tree) unname(n *node) {
	if s := (slot{n.dir.id, n.name}); t.named[s] == n {
		delete(t.named, s)
	}
}

// detach is unname for callers without the lock.
func (t *tree) detach(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unname(n)
}

// drop forgets what name leads to.
func (t *tree) drop(dir *node, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.named, slot{dir.id, name})
}

// dropIf is drop where name leads to n still.
func (t *tree) dropIf(dir *node, name string, n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := (slot{dir.id, name}); t.named[s] == n {
		delete(t.named, s)
	}
}

// move gives n another name; p is its new place.
func (t *tree) move(n, dir *node, name string, p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unname(n)
	t.none.end(dir.id, name)
	n.dir, n.name, n.place = dir, name, p
	t.named[slot{dir.id, name}] = n
}

// at returns the node that a path from the top leads to, as far as the kernel
// has looked: nil where it has not.
func (t *tree) at(path string) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.root
	if path == "" {
		return n
	}
	for name := range strings.SplitSeq(path, "/") {
		if n = t.named[slot{n.id, name}]; n == nil {
			return nil
		}
	}
	return n
}

// below returns n and all named nodes under it, parents first.
func (t *tree) below(n *node) []*node {
	t.mu.Lock()
	defer t.mu.Unlock()
	children := map[*node][]*node{}
	for _, c := range t.named {
		children[c.dir] = append(children[c.dir], c)
	}
	all := []*node{n}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// all returns every node.
func (t *tree) all() []*node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.nodes))
}

// where returns a node's directory and name, which a rename may change.
func (t *tree) where(n *node) (dir *node, name string, p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return n.dir, n.name, n.place
}

// count is the number of nodes known.
func (t *tree) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.nodes)
}
