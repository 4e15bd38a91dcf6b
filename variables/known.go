package variables

import (
	"sync"
	"time"
)

// knownMost is of how many files the metadata is remembered.
const knownMost = 1 << 16

// known remembers what the store said of files, so that a ref costs no system
// call. It forgets after [MetadataAge], because other programs may change the
// files, and at once what this process changes.
type known struct {
	now func() time.Time

	mu     sync.RWMutex // guards the rest
	states map[name]lately
	gen    uint64 // counts what was forgotten
}

type lately struct {
	state state
	at    time.Time
}

func newKnown(now func() time.Time) *known {
	return &known{now: now, states: map[name]lately{}}
}

func (k *known) get(n name) (state, bool) {
	k.mu.RLock()
	l, ok := k.states[n]
	k.mu.RUnlock()
	if !ok || k.now().Sub(l.at) > MetadataAge {
		return state{}, false
	}
	return l.state, true
}

// begin is called before the look at the store whose result put gets.
func (k *known) begin() (gen uint64, at time.Time) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.gen, k.now()
}

// put remembers s, unless something was changed since begin.
func (k *known) put(s state, gen uint64, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if gen != k.gen {
		return
	}
	for n := range k.states {
		if len(k.states) < knownMost {
			break
		}
		delete(k.states, n)
	}
	k.states[s.name] = lately{s, at}
}

func (k *known) forget(names ...name) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gen++
	for _, n := range names {
		delete(k.states, n)
	}
}
