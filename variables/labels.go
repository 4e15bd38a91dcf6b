package variables

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ctxfs/backing"
)

// label is what a variable's file cannot carry.
type label struct {
	Type    Type      `json:"type,omitempty"`
	Stream  string    `json:"stream,omitempty"` // names the value of a stream while it grows
	Created time.Time `json:"created,omitzero"` // of a stream
}

// labelLine is one change of a label, a line of .ctxfs/vars/<scope>.jsonl.
type labelLine struct {
	Key string `json:"key"`
	label
	// Rev is the content that this change replaces; while that is still
	// current, Was holds and not the label.
	Rev backing.Revision `json:"rev,omitempty"`
	Was *label           `json:"was,omitempty"`
	// Gone ends the label.
	Gone bool `json:"gone,omitempty"`
}

// at returns the label for content at revision rev.
func (l *labelLine) at(rev backing.Revision) label {
	if l.Was != nil && rev == l.Rev {
		return *l.Was
	}
	return l.label
}

// labels are the labels of all scopes, read when a scope is first asked for.
// Nobody else writes them while the store is ours; where other hosts write it
// too they are read again after each change in the scope.
type labels struct {
	store backing.Store

	mu     sync.Mutex // guards scopes
	scopes map[Scope]*scopeLabels
}

type scopeLabels struct {
	write sync.Mutex // serialises load and change; held across calls to the store; guards the next two
	count int        // lines in the file
	torn  bool

	mu     sync.RWMutex // guards the rest; taken after write
	lines  map[string]*labelLine
	loaded bool
	gen    uint64 // counts what forget was told
}

func newLabels(store backing.Store) *labels {
	return &labels{store: store, scopes: map[Scope]*scopeLabels{}}
}

// labelEnd ends the names of the files of labels.
const labelEnd = ".jsonl"

func labelFile(s Scope) backing.Key {
	return backing.Own + "/" + roomDir + "/" + backing.Key(s) + labelEnd
}

// of returns the labels of scope, loaded.
func (l *labels) of(ctx context.Context, scope Scope) (*scopeLabels, error) {
	l.mu.Lock()
	s := l.scopes[scope]
	if s == nil {
		s = &scopeLabels{lines: map[string]*labelLine{}}
		l.scopes[scope] = s
	}
	l.mu.Unlock()
	s.mu.RLock()
	loaded := s.loaded
	s.mu.RUnlock()
	if loaded {
		return s, nil
	}
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.load(ctx, l.store, scope); err != nil {
		return nil, fmt.Errorf("read the types of %s: %w", scope, err)
	}
	return s, nil
}

// get returns the label of key for content at rev; ok is false for none.
func (l *labels) get(ctx context.Context, n name, rev backing.Revision) (lab label, ok bool, err error) {
	s, err := l.of(ctx, n.scope)
	if err != nil {
		return label{}, false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	line := s.lines[n.key]
	if line == nil {
		return label{}, false, nil
	}
	lab = line.at(rev)
	return lab, lab.Type != "", nil
}

// set changes the label of n, durably: new from now on, but what it was while
// the content is still at rev.
func (l *labels) set(ctx context.Context, n name, lab label, rev backing.Revision) error {
	s, err := l.of(ctx, n.scope)
	if err != nil {
		return err
	}
	s.write.Lock()
	defer s.write.Unlock()
	line := &labelLine{Key: n.key, label: lab}
	if rev != "" {
		s.mu.RLock()
		line.Rev, line.Was = rev, &label{}
		if old := s.lines[n.key]; old != nil {
			was := old.at(rev)
			line.Was = &was
		}
		s.mu.RUnlock()
	}
	return s.change(ctx, l.store, n, line)
}

// drop ends the label of n, if it has one.
func (l *labels) drop(ctx context.Context, n name) error {
	s, err := l.of(ctx, n.scope)
	if err != nil {
		return err
	}
	s.write.Lock()
	defer s.write.Unlock()
	s.mu.RLock()
	has := s.lines[n.key] != nil
	s.mu.RUnlock()
	if !has {
		return nil
	}
	return s.change(ctx, l.store, n, &labelLine{Key: n.key, Gone: true})
}

func (s *scopeLabels) change(ctx context.Context, store backing.Store, n name, line *labelLine) error {
	s.mu.Lock()
	old := s.lines[n.key]
	if s.lines[n.key] = line; line.Gone {
		delete(s.lines, n.key)
	}
	live := len(s.lines)
	s.mu.Unlock()
	err := s.save(ctx, store, n.scope, line, live)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.lines[n.key] = old; old == nil {
			delete(s.lines, n.key)
		}
		s.torn = true // nobody knows how much of the line is there
		return fmt.Errorf("note the type of %s: %w", n.path(), err)
	}
	return nil
}
