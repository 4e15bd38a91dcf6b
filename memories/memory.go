package memories

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ctxfs/backing"
)

// maxIdle is of how many memories without work something is remembered.
const maxIdle = 4096

// text is one acknowledged content of a context document.
type text struct {
	content string
	rev     backing.Revision // that readers see, queued or written
	at      time.Time
	attr    backing.AttrChange // what its writer set
}

// memory is what is known of one memory besides its files.
type memory struct {
	name string

	mu      sync.Mutex // guards what follows; taken after a shard's
	jobs    int        // accepted and not ended
	waiting []*task    // of these, in the order of the queue; the first one's turn is next
	newest  *text      // acknowledged last and not on disk yet
	failed  *text      // the last that could not be written, until it or a later one is
	why     error      // it could not
	made    bool       // its directory is known to exist
	// The revision that readers know the written content by, and the one
	// that the store gave it.
	shown, stored backing.Revision
}

// get returns the state of a memory, making it where nothing is known.
func (s *Memories) get(name string) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known[name]
	if m == nil {
		if len(s.known) >= maxIdle {
			s.forgetIdle()
		}
		m = &memory{name: name}
		s.known[name] = m
	}
	m.mu.Lock()
	m.jobs++ // until release: not idle
	m.mu.Unlock()
	return m
}

// forgetIdle drops the memories without work. s.mu is held.
func (s *Memories) forgetIdle() {
	for name, m := range s.known {
		m.mu.Lock()
		idle := m.jobs == 0 && m.newest == nil && m.failed == nil
		m.mu.Unlock()
		if idle {
			delete(s.known, name)
		}
	}
}

// look returns the state of a memory if something is known of it.
func (s *Memories) look(name string) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[name]
}

func (m *memory) release() {
	m.mu.Lock()
	m.jobs--
	m.mu.Unlock()
}

// written notes that t is on disk.
func (m *memory) written(t *text, disk backing.Meta) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown, m.stored = t.rev, disk.Revision
	m.failed, m.why = nil, nil
	if m.newest == t {
		m.newest = nil
	}
}

// couldNot notes that t is not on disk, and why.
func (m *memory) couldNot(t *text, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed, m.why = t, err
}

// unwritten is a text that failed earlier and that nothing has replaced.
func (m *memory) unwritten() *text {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// queued returns the newest text if it is not on disk, nil if it is. m may be
// nil.
func (m *memory) queued() *text {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newest
}

// idle reports that nothing of m waits to be written. m may be nil.
func (m *memory) idle() bool {
	if m == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.jobs == 0 && m.newest == nil && m.failed == nil
}

// ensureDir makes the directory of a memory where it is missing.
func (s *Memories) ensureDir(ctx context.Context, m *memory) error {
	m.mu.Lock()
	made := m.made
	m.mu.Unlock()
	if made {
		return nil
	}
	if err := s.makeDirs(ctx, m.name); err != nil {
		return err
	}
	m.mu.Lock()
	m.made = true
	m.mu.Unlock()
	return nil
}

func (s *Memories) makeDirs(ctx context.Context, name string) error {
	if err := s.makeTop(ctx); err != nil {
		return err
	}
	if _, err := s.store.MakeDir(ctx, s.dirKey(name), 0o755); err != nil && !errors.Is(err, backing.ErrExists) {
		return fmt.Errorf("make memory %s: %w", name, err)
	}
	return nil
}

func (s *Memories) makeTop(ctx context.Context) error {
	if s.top == "" {
		return nil
	}
	if _, err := s.store.MakeDir(ctx, s.top, 0o755); err != nil && !errors.Is(err, backing.ErrExists) {
		return fmt.Errorf("make %s: %w", s.top, err)
	}
	return nil
}
