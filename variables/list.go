package variables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ctxfs/backing"
)

// Filter says which variables List returns. Zero fields leave all in.
type Filter struct {
	Scope  Scope  // "" is every scope
	Type   Type   //
	Prefix string // of the key
	After  Place  // only what comes after it, for the next page
	Limit  int    // 0 is no limit
}

// Place is where a page of a list ends.
type Place struct {
	Scope Scope
	Key   string
}

// List describes the variables that pass the filter, ordered by scope and
// key. It reads no content. A scope that holds nothing is no error.
func (v *Variables) List(ctx context.Context, f Filter) ([]Meta, error) {
	scopes := []Scope{f.Scope}
	var err error
	if f.Scope == "" {
		scopes, err = v.scopes(ctx)
	} else {
		_, err = ParseScope(string(f.Scope))
	}
	if err != nil {
		return nil, err
	}
	all := []Meta{}
	for _, scope := range scopes {
		after := ""
		if scope < f.After.Scope {
			continue
		}
		if scope == f.After.Scope {
			after = f.After.Key
		}
		err := v.each(ctx, scope, after, func(s state) bool {
			if s.pending || f.Type != "" && s.typ != f.Type || !strings.HasPrefix(s.name.key, f.Prefix) {
				return true
			}
			all = append(all, s.meta())
			return len(all) != f.Limit
		})
		if err != nil {
			return nil, err
		}
		if f.Limit > 0 && len(all) >= f.Limit {
			break
		}
	}
	return all, nil
}

// scopes are those that hold something, and global, in order.
func (v *Variables) scopes(ctx context.Context) ([]Scope, error) {
	scopes := append(v.memory.scopes(), v.drafts.scopes()...)
	files, err := v.fileScopes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list scopes: %w", err)
	}
	for _, s := range files {
		has, err := v.holds(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("list scopes: %w", err)
		}
		if has {
			scopes = append(scopes, s)
		}
	}
	scopes = append(scopes, Global)
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// each calls f for the variables of scope with keys greater than after, in
// order, until f says false. Where a key is in two places, memory counts
// before files, and files before what is only being written.
func (v *Variables) each(ctx context.Context, scope Scope, after string, f func(state) bool) error {
	for {
		page, err := v.page(ctx, scope, after, listPage)
		if err != nil {
			return fmt.Errorf("list %s: %w", scope, err)
		}
		for _, s := range page {
			if !f(s) {
				return nil
			}
		}
		if len(page) < listPage {
			return nil
		}
		after = page[len(page)-1].name.key
	}
}

// page returns at most limit variables of scope with keys greater than after.
func (v *Variables) page(ctx context.Context, scope Scope, after string, limit int) ([]state, error) {
	states, err := v.filePage(ctx, scope, after, limit)
	if err != nil {
		return nil, err
	}
	inMemory := v.memory.list(scope, after, limit)
	pending := v.drafts.list(scope, after, limit)
	if len(inMemory) == 0 && len(pending) == 0 {
		return states, nil
	}
	for i := range inMemory {
		if inMemory[i], err = v.grown(ctx, inMemory[i]); err != nil && !errors.Is(err, backing.ErrNotFound) {
			return nil, err
		}
	}
	all := append(append(inMemory, states...), pending...)
	slices.SortStableFunc(all, func(a, b state) int { return strings.Compare(a.name.key, b.name.key) })
	all = slices.CompactFunc(all, func(a, b state) bool { return a.name.key == b.name.key })
	return all[:min(limit, len(all))], nil
}

func (v *Variables) filePage(ctx context.Context, scope Scope, after string, limit int) ([]state, error) {
	var states []state
	var failed error
	err := v.eachFile(ctx, scope, after, func(m backing.Meta) bool {
		if len(states) == limit {
			return false
		}
		var s state
		if s, failed = v.described(ctx, name{scope, m.Key.Name()}, m); failed != nil {
			return false
		}
		states = append(states, s)
		return true
	})
	if errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir) {
		err = nil
	}
	return states, errors.Join(err, failed)
}
