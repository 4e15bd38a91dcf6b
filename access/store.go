package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"ctxfs/backing"
	"ctxfs/entries"
	"ctxfs/invocations"
	"ctxfs/memories"
	"ctxfs/results"
	"ctxfs/room"
	"ctxfs/variables"
)

// Options say how a store is opened that no daemon serves. The zero value
// works.
type Options struct {
	Caller     room.Caller          // who acts
	Strict     bool                 // of entries
	Memories   memories.Options     // Log and Journal are filled in
	Summarizer variables.Summarizer // nil is the built-in one
	Log        *slog.Logger         // nil discards
}

// Store is the files of a store that this process has opened, and locked,
// itself. A room is opened when something in it is first asked for. What
// lives in memory only, session variables and results, ends with Close.
type Store struct {
	store   backing.Store
	journal *room.Journal
	o       Options

	mu     sync.Mutex // guards the rest
	rooms  map[string]room.Room
	close  []func() error // in the order in which they were opened
	closed bool
}

var _ Files = (*Store)(nil)

// OpenStore opens the store at l, see [Open].
func OpenStore(ctx context.Context, l Location, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	store, _, err := Open(ctx, l, o.Log)
	if err != nil {
		return nil, err
	}
	return &Store{store: store, journal: room.NewJournal(store), o: o, rooms: map[string]room.Room{}}, nil
}

// Close implements [Files]: everything that was queued is written, and the
// lock given up. Closing again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for i := len(s.close) - 1; i >= 0; i-- {
		errs = append(errs, s.close[i]())
	}
	s.close = nil
	if err := errors.Join(append(errs, s.store.Close())...); err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// names are the rooms below the top, as the mount names them.
var names = []string{"invocations", "memories", "results", "vars"}

// split takes the room's name from a key; "" is that of the entries, who have
// all other names at the top.
func split(k backing.Key) (name, at string) {
	first, rest, _ := strings.Cut(string(k), "/")
	if slices.Contains(names, first) {
		return first, rest
	}
	return "", string(k)
}

// room returns the room that a path lies in, as the caller sees it, and the
// path in it.
func (s *Store) room(ctx context.Context, op, path string) (room.Room, string, error) {
	k, err := key(op, path)
	if err != nil {
		return nil, "", err
	}
	if k.Under(backing.Own) {
		return nil, "", named(op, path, backing.ErrNotFound)
	}
	name, at := split(k)
	r, err := s.opened(ctx, name)
	if err != nil {
		return nil, "", named(op, path, err)
	}
	if v, ok := r.(room.Viewer); ok {
		r = v.For(s.o.Caller)
	}
	return r, at, nil
}

// opened returns a room by its name, and opens it where that was not done.
func (s *Store) opened(ctx context.Context, name string) (room.Room, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.rooms[name]; ok {
		return r, nil
	}
	if s.closed {
		return nil, fs.ErrClosed
	}
	r, end, err := s.open(context.WithoutCancel(ctx), name)
	if err != nil {
		return nil, err
	}
	s.rooms[name] = r
	s.close = append(s.close, end)
	return r, nil
}

func (s *Store) open(ctx context.Context, name string) (room.Room, func() error, error) {
	switch name {
	case "vars":
		v, err := variables.New(s.store, variables.Options{Log: s.o.Log, Journal: s.journal, Summarizer: s.o.Summarizer})
		if err != nil {
			return nil, nil, err
		}
		return v.Room(), v.Close, nil
	case "results":
		r, err := results.Open(ctx, s.store, results.Options{Log: s.o.Log, Journal: s.journal})
		if err != nil {
			return nil, nil, err
		}
		return r.Room(), r.Close, nil
	case "invocations":
		h, err := invocations.Open(ctx, s.store, invocations.Options{Log: s.o.Log, Journal: s.journal})
		if err != nil {
			return nil, nil, err
		}
		return h.Room(), h.Close, nil
	case "memories":
		o := s.o.Memories
		o.Log, o.Journal = s.o.Log, s.journal
		m, err := memories.Open(s.store, o)
		if err != nil {
			return nil, nil, err
		}
		return m, m.Close, nil
	}
	e, err := entries.New(s.store, entries.Options{Strict: s.o.Strict, Log: s.o.Log, Journal: s.journal})
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}
