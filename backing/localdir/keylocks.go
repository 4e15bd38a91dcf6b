package localdir

import (
	"sync"

	"ctxfs/backing"
)

// keyLocks are locks by key. Each key has one of its own: who holds it may wait
// for the disk for long, and no other key's writer waits with it.
type keyLocks struct {
	mu    sync.Mutex // guards locks and their users; never held while one is waited for
	locks map[backing.Key]*keyLock
}

// keyLock guards what lies at its key against other writers of this store.
type keyLock struct {
	sync.Mutex
	users int // that hold it or wait for it
}

// lock locks key and returns the unlock.
func (k *keyLocks) lock(key backing.Key) func() {
	k.mu.Lock()
	l := k.locks[key]
	if l == nil {
		if k.locks == nil {
			k.locks = map[backing.Key]*keyLock{}
		}
		l = &keyLock{}
		k.locks[key] = l
	}
	l.users++
	k.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.locks, key)
		}
	}
}

// lockBoth locks two keys, in their order.
func (k *keyLocks) lockBoth(a, b backing.Key) func() {
	if a == b {
		return k.lock(a)
	}
	first, second := k.lock(min(a, b)), k.lock(max(a, b))
	return func() {
		second()
		first()
	}
}
