package entries

import "sync"

// pathLocks is one mutex for each path in use.
type pathLocks struct {
	mu    sync.Mutex // guards locks and the count in each
	locks map[string]*pathLock
}

type pathLock struct {
	sync.Mutex
	users int
}

// lock waits for path's turn and returns what gives it up.
func (l *pathLocks) lock(path string) (unlock func()) {
	l.mu.Lock()
	if l.locks == nil {
		l.locks = map[string]*pathLock{}
	}
	p := l.locks[path]
	if p == nil {
		p = &pathLock{}
		l.locks[path] = p
	}
	p.users++
	l.mu.Unlock()
	p.Lock()
	return func() {
		p.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(l.locks, path)
		}
	}
}
