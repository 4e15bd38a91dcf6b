package mcpserver

import (
	"context"
	"fmt"
	"sync"

	"ctxfs/operations"
)

// door is where calls come to the store. Those at the same time share what was
// reached; the last one closes it.
type door struct {
	reach func(context.Context) (*operations.Actor, error)

	// alone is held for reading while somebody is in, for writing by who must
	// be alone.
	alone sync.RWMutex

	mu    sync.Mutex // guards the rest, also while the store is opened and closed
	actor *operations.Actor
	in    int // calls that use actor
}

// enter opens the store, or joins those who have it.
func (d *door) enter(ctx context.Context) (*operations.Actor, error) {
	d.alone.RLock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.actor == nil {
		a, err := d.reach(ctx)
		if err != nil {
			d.alone.RUnlock()
			return nil, err
		}
		d.actor = a
	}
	d.in++
	return d.actor, nil
}

// leave ends what enter began.
func (d *door) leave() error {
	defer d.alone.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.in--; d.in > 0 {
		return nil
	}
	a := d.actor
	d.actor = nil
	if err := a.Close(); err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// closed calls do while nobody is in.
func (d *door) closed(do func() error) error {
	d.alone.Lock()
	defer d.alone.Unlock()
	return do()
}
