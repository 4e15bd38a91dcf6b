package codec

import (
	"sync"

	"gopkg.in/yaml.v3"
)

// A save reads the same frontmatter several times: when it is written, when it
// is completed, compared with the old version and indexed. Reading YAML is most
// of what a save computes, so the last ones are remembered, by their text. What
// is remembered is never changed.
var memo = remembered{known: make(map[string]parsed)}

const (
	memoMost = 64      // frontmatters
	memoSize = 4 << 10 // bytes of the longest
)

// parsed is what fields returns for a frontmatter that is valid YAML.
type parsed struct {
	root *yaml.Node
	all  []field
}

type remembered struct {
	mu    sync.Mutex // guards the rest
	known map[string]parsed
	order [memoMost]string // of known, in a ring
	next  int              // where the oldest stands
}

func (m *remembered) get(text []byte) (parsed, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.known[string(text)]
	return p, ok
}

func (m *remembered) put(text []byte, p parsed) {
	if len(text) > memoSize {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := string(text)
	if _, ok := m.known[key]; ok {
		return
	}
	delete(m.known, m.order[m.next])
	m.known[key], m.order[m.next] = p, key
	m.next = (m.next + 1) % memoMost
}
