package localdir

import (
	"maps"
	"slices"
	"sync"
	"time"

	"ctxfs/backing"

	"golang.org/x/sys/unix"
)

// pollEvery is how often a directory without an inotify watch is looked at.
const pollEvery = 500 * time.Millisecond

// snapshot is what a polled directory held; nil where it cannot be read.
type snapshot map[string]memberStamp

type memberStamp struct {
	ino   uint64
	ctime int64 // nanoseconds: it changes with content and metadata
}

// poller keeps the directories that are polled.
type poller struct {
	mu   sync.Mutex // guards dirs
	dirs map[backing.Key]snapshot
}

func (p *poller) add(t *tree, dir backing.Key) {
	now := takeSnapshot(t, dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirs[dir] = now
}

func (p *poller) remove(dir backing.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.dirs, dir)
}

func (p *poller) has(dir backing.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.dirs[dir]
	return ok
}

func (p *poller) keys() []backing.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.dirs))
}

// replace stores now as what dir holds and returns what it was before; false
// where dir is not polled any more.
func (p *poller) replace(dir backing.Key, now snapshot) (snapshot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, ok := p.dirs[dir]
	if ok {
		p.dirs[dir] = now
	}
	return old, ok
}

// pollAll looks at the polled directories until the store ends.
func (w *watches) pollAll() {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
		}
		for _, dir := range w.poll.keys() {
			w.pollOne(dir)
		}
	}
}

func (w *watches) pollOne(dir backing.Key) {
	now := takeSnapshot(w.tree, dir)
	old, polled := w.poll.replace(dir, now)
	if !polled {
		return
	}
	if now == nil {
		w.rejoin(dir, false)
		w.tell(backing.Event{Kind: backing.Changed, Key: dir})
		return
	}
	for name, stamp := range now {
		if old[name] != stamp {
			w.tell(backing.Event{Kind: backing.Changed, Key: dir.Join(name)})
		}
	}
	for name := range old {
		if _, there := now[name]; !there {
			w.tell(backing.Event{Kind: backing.Changed, Key: dir.Join(name)})
		}
	}
}

func takeSnapshot(t *tree, dir backing.Key) snapshot {
	fd, err := t.dir(dir)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	names, err := readNames(fd, dir)
	if err != nil {
		return nil
	}
	snap := make(snapshot, len(names))
	for _, name := range names {
		if st, err := statAt(fd, name, 0); err == nil {
			snap[name] = memberStamp{st.Ino, nanoseconds(st.Ctime)}
		}
	}
	return snap
}
