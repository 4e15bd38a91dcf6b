package variables

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// Scopes returns where c looks a key up, the nearest first: its session, its
// agent, global. A caller without a name has no scope of its own.
func Scopes(c room.Caller) []Scope {
	var s []Scope
	if c.Session != "" {
		s = append(s, SessionScope(c.Session))
	}
	if c.Agent != "" {
		s = append(s, AgentScope(c.Agent))
	}
	return append(s, Global)
}

// Find says in which scope c sees key: of Scopes the first that has it.
// backing.ErrNotFound.
func (v *Variables) Find(ctx context.Context, c room.Caller, key string) (Scope, error) {
	s, err := v.find(ctx, c, key)
	return s.name.scope, err
}

func (v *Variables) find(ctx context.Context, c room.Caller, key string) (state, error) {
	if CheckKey(key) != nil {
		return state{}, backing.ErrNotFound
	}
	for _, scope := range Scopes(c) {
		s, err := v.state(ctx, name{scope, key})
		if !errors.Is(err, backing.ErrNotFound) {
			return s, err
		}
	}
	return state{}, backing.ErrNotFound
}

// selfPage is page for all that c sees.
func (v *Variables) selfPage(ctx context.Context, c room.Caller, after string, limit int) ([]state, error) {
	var all []state
	for _, scope := range Scopes(c) {
		states, err := v.page(ctx, scope, after, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, states...)
	}
	slices.SortStableFunc(all, func(a, b state) int { return strings.Compare(a.name.key, b.name.key) })
	all = slices.CompactFunc(all, func(a, b state) bool { return a.name.key == b.name.key })
	return all[:min(limit, len(all))], nil
}
