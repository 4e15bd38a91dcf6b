package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ctxfs/variables"
)

// Scopes are the one that is asked for, as ParseScope reads it, or for "" those
// that hold something.
func (a *Actor) Scopes(ctx context.Context, one string) ([]variables.Scope, error) {
	if one != "" {
		s, err := a.ParseScope(one)
		return []variables.Scope{s}, err
	}
	infos, err := a.List(ctx, VariablesDir)
	if err != nil {
		return nil, err
	}
	var all []variables.Scope
	for _, i := range infos {
		if s, err := variables.ParseScope(i.Name); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// EachVariable calls do with every variable of these scopes whose key begins
// with prefix, and whose type is typ where that is not "", scope by scope. No
// content is read.
func (a *Actor) EachVariable(ctx context.Context, scopes []variables.Scope, typ, prefix string, do func(variables.Meta) error) error {
	for _, s := range scopes {
		path := Variable{s, ".list"}.Path()
		err := a.eachLine(ctx, path, func(line []byte) error {
			var m variables.Meta
			if err := json.Unmarshal(line, &m); err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			if typ != "" && string(m.Type) != typ || !strings.HasPrefix(m.Key, prefix) {
				return nil
			}
			return do(m)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // its last one went meanwhile
			return err
		}
	}
	return nil
}
