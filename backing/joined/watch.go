package joined

import (
	"context"

	"ctxfs/backing"
)

// noToken is the token of a local event before the first shared one: nobody
// knows what to go on after.
const noToken = "none"

// Watch implements [backing.Store]: the events of both. It begins with a
// Resync where there is no token: to begin takes time, in which other hosts
// write and this one looks. A token is one of the
// shared store; what changes here while nobody watches is nobody's but this
// process's to change.
func (s *Store) Watch(ctx context.Context, token string) (<-chan backing.Event, error) {
	// Whoever looked before this has come so far may have what is old by now.
	resync := token == noToken || token == ""
	if resync {
		token = ""
	}
	ctx, stop := context.WithCancel(ctx)
	shared, err := s.shared.Watch(ctx, token)
	if err != nil {
		stop()
		return nil, err
	}
	local, err := s.local.Watch(ctx, "")
	if err != nil {
		stop()
		for range shared { // must be read until it is closed
		}
		return nil, err
	}
	if token == "" {
		token = noToken
	}
	events := make(chan backing.Event, 1)
	if resync {
		events <- backing.Event{Kind: backing.Resync, Token: token}
	}
	go func() {
		defer stop()
		defer close(events)
		merge(ctx, shared, local, events, token)
	}()
	return events, nil
}

// merge passes events on until one store has ended, and reads the other to its
// end.
func merge(ctx context.Context, shared, local <-chan backing.Event, to chan<- backing.Event, token string) {
	for shared != nil || local != nil {
		var e backing.Event
		var open bool
		select {
		case e, open = <-shared:
			if !open {
				shared = nil
				continue
			}
			token = e.Token
		case e, open = <-local:
			if !open {
				local = nil
				continue
			}
			e.Token = token
		}
		select {
		case to <- e:
		case <-ctx.Done(): // both end now
		}
	}
}
