package fusefs

import (
	"errors"
	"sync"

	"ctxfs/backing"
	"ctxfs/room"
)

// notifier keeps the kernel's caches true: it tells the kernel which names,
// attributes and listings to ask for again.
type notifier struct {
	f *FS

	mu    sync.Mutex // guards what follows
	names map[*node]map[string]bool
	paths map[string]bool           // that a room announced, true for all below too
	own   map[slot]backing.Revision // committed through the mount, not yet announced by the store
	made  map[slot]int              // directories that are being made through the mount
	again map[slot]bool             // see echo
	wake  chan struct{}
}

func newNotifier(f *FS) *notifier {
	return &notifier{f: f, names: map[*node]map[string]bool{}, paths: map[string]bool{}, made: map[slot]int{}, again: map[slot]bool{}, wake: make(chan struct{}, 1)}
}

// forgetName makes the kernel look up name in dir the next time, and returns
// when it will. Only from where the kernel holds no lock of dir.
func (t *notifier) forgetName(dir *node, name string) {
	dir.changes.Add(1)
	t.entry(dir, name)
	t.echo(dir, name)
}

// forgetNode is forgetName for a name that has led to n. The tree forgets that
// after the kernel has: whoever finds no node under a name relies on it that
// the kernel does not either, and a LOOKUP meanwhile finds another node.
func (t *notifier) forgetNode(dir *node, name string, n *node) {
	t.forgetName(dir, name)
	t.f.tree.detach(n)
}

// entry tells the kernel to drop a name. That it does not have it, or has
// been unmounted, is no error.
func (t *notifier) entry(dir *node, name string) {
	t.f.stats.notices.Add(1)
	t.mu.Lock()
	delete(t.own, slot{dir.id, name})
	t.mu.Unlock()
	t.f.tree.present(dir, name)
	t.f.server.EntryNotify(dir.id, name)
}

// pages tells the kernel to drop pages and attributes: those of a directory
// are its listing.
func (t *notifier) pages(n *node) {
	t.f.stats.notices.Add(1)
	t.f.server.InodeNotify(n.id, 0, 0)
}

// attributes tells the kernel to ask for them again. It takes no lock of the
// kernel's that a request may hold.
func (t *notifier) attributes(n *node) {
	t.f.stats.notices.Add(1)
	t.f.server.InodeNotify(n.id, -1, 0)
}

// appeared announces a new name in dir, like forgetName.
func (t *notifier) appeared(dir *node, name string) {
	t.forgetName(dir, name)
	t.pages(dir)
}

// later is forgetName from the notifier's goroutine.
func (t *notifier) later(dir *node, name string) {
	dir.changes.Add(1)
	t.mu.Lock()
	if t.names[dir] == nil {
		t.names[dir] = map[string]bool{}
	}
	t.names[dir][name] = true
	t.mu.Unlock()
	t.ring()
}

// committed notes a version that the kernel needs no announcement of.
func (t *notifier) committed(dir *node, name string, rev backing.Revision) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own == nil || len(t.own) >= remembered {
		t.own = map[slot]backing.Revision{}
	}
	t.own[slot{dir.id, name}] = rev
}

// expected reports whether rev is what was committed under the name.
func (t *notifier) expected(dir *node, name string, rev backing.Revision) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return rev != "" && t.own[slot{dir.id, name}] == rev
}

// making notes that a directory is being made through the mount, until the
// returned function is called: the kernel, which holds dir's lock meanwhile,
// would drop the new name as soon as it has it.
func (t *notifier) making(dir *node, name string) (end func()) {
	s := slot{dir.id, name}
	count := func(by int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.made[s] += by; t.made[s] == 0 {
			delete(t.made, s)
		}
	}
	count(1)
	return func() { count(-1) }
}

func (t *notifier) isMaking(dir *node, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.made[slot{dir.id, name}] > 0
}

// changed is called by rooms: something at path, from the top of the mount,
// may have become different; deep means everything below it too.
func (t *notifier) changed(path string, deep bool) {
	t.mu.Lock()
	t.paths[path] = t.paths[path] || deep
	t.mu.Unlock()
	t.ring()
}

func (t *notifier) ring() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run announces what is queued until done is closed.
func (t *notifier) run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-t.wake:
		}
		t.mu.Lock()
		names, paths := t.names, t.paths
		t.names, t.paths = map[*node]map[string]bool{}, map[string]bool{}
		t.mu.Unlock()
		for dir, set := range names {
			for name := range set {
				t.entry(dir, name)
			}
		}
		for path, deep := range paths {
			t.announce(path, deep)
		}
	}
}

// announce makes the kernel ask again for what it has of path, if what it has
// is no longer so.
func (t *notifier) announce(path string, deep bool) {
	if deep {
		t.everything(path)
		return
	}
	dirPath, name := split(path)
	dir := t.f.tree.at(dirPath)
	if dir == nil || name == "" {
		return // the kernel has not looked there
	}
	p := t.f.placeOf(dir, name)
	// The node first: what a rename puts there while we look is not in the way.
	n := t.f.tree.find(dir, name)
	info, err := p.room.Stat(t.f.ctx, p.path())
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		t.f.log.Error("a changed file cannot be examined", "path", path, "err", err)
	}
	switch {
	case n == nil && err == nil && (t.f.divert.drafting(dir, name) || t.expected(dir, name, info.Revision)):
		// The name leads the kernel to the draft that was committed, and
		// is looked up each time anyway.
	case n == nil && err == nil && info.Kind == room.Dir && t.isMaking(dir, name):
		// The answer to MKDIR tells the kernel.
	case n == nil || err != nil:
		t.forgetName(dir, name)
		t.f.tree.dropIf(dir, name, n) // last, see forgetNode
		t.pages(dir)
	case !n.same(info):
		if n.become(info) {
			if info.Kind == room.Dir {
				dir.changes.Add(1) // its name is not dropped, see stays
			} else {
				t.forgetName(dir, name)
			}
		} else {
			t.forgetNode(dir, name, n)
		}
		t.pages(n)
	}
}

// same reports whether info is what n was announced with.
func (n *node) same(info room.Info) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.draft != nil || n.info.Kind != info.Kind || n.info.Mode != info.Mode || n.info.UID != info.UID || n.info.GID != info.GID {
		return false
	}
	switch info.Kind {
	case room.Object:
		return n.info.Revision == info.Revision // which says size and time
	case room.Dir:
		return n.info.ModTime.Equal(info.ModTime)
	}
	return n.info == info
}

func split(path string) (dir, name string) {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return "", path
}
