package entries

import "sync"

// pathLocks is one lock for each path in use, given in the order in which it
// was asked for. Its zero value is ready.
type pathLocks struct {
	mu    sync.Mutex // guards everything here
	locks map[string]*pathLock
}

// pathLock is held by somebody. Those that wait are told by closing theirs.
type pathLock struct {
	first  []chan struct{} // before all others
	others []chan struct{}
}

// lock waits for path's turn and returns what gives it up.
func (l *pathLocks) lock(path string) (unlock func()) { return l.take(path, false) }

// lockFirst is lock for those for whom many wait: it goes before all who only
// lock. A rename comes with the kernel's lock of its directory, in which nothing
// can be opened or listed until it returns.
func (l *pathLocks) lockFirst(path string) (unlock func()) { return l.take(path, true) }

func (l *pathLocks) take(path string, first bool) (unlock func()) {
	l.mu.Lock()
	if l.locks == nil {
		l.locks = map[string]*pathLock{}
	}
	p := l.locks[path]
	if p == nil {
		l.locks[path] = &pathLock{}
		l.mu.Unlock()
		return func() { l.give(path) }
	}
	turn := make(chan struct{})
	if first {
		p.first = append(p.first, turn)
	} else {
		p.others = append(p.others, turn)
	}
	l.mu.Unlock()
	<-turn
	return func() { l.give(path) }
}

// give hands the lock of path to who is next.
func (l *pathLocks) give(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.locks[path]
	switch {
	case len(p.first) > 0:
		close(p.first[0])
		p.first = p.first[1:]
	case len(p.others) > 0:
		close(p.others[0])
		p.others = p.others[1:]
	default:
		delete(l.locks, path)
	}
}
