package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"ctxfs/access"
	"ctxfs/variables"
)

// Resolve opens the value that ref names. What was opened is that value if
// the variable had it before and after.
func (a *Actor) Resolve(ctx context.Context, ref variables.Ref) (access.File, error) {
	v := Variable{ref.Scope, ref.Key}
	if err := a.current(ctx, ref, v); err != nil {
		return nil, err
	}
	c, err := a.Open(ctx, v.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ref.Removed()
	}
	if err != nil {
		return nil, err
	}
	if err := a.current(ctx, ref, v); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (a *Actor) current(ctx context.Context, ref variables.Ref, v Variable) error {
	text, err := access.ReadAll(ctx, a, v.refPath())
	if errors.Is(err, fs.ErrNotExist) {
		return ref.Removed()
	}
	if err != nil {
		return err
	}
	var now variables.Ref
	if err := json.Unmarshal(text, &now); err != nil {
		return fmt.Errorf("read %s: %w", v.refPath(), err)
	}
	if now.ID != ref.ID {
		return ref.Replaced()
	}
	return nil
}

// Summary is what a variable holds, in at most so many tokens. It reads
// .summary/KEY@TOKENS, with zeros before the number while there is a variable
// of that very name.
func (a *Actor) Summary(ctx context.Context, v Variable, tokens int) (string, error) {
	name := fmt.Sprintf("%s@%d", v.Key, tokens)
	for zeros := "0"; ; zeros += "0" {
		_, err := a.Stat(ctx, v.in(name))
		if errors.Is(err, fs.ErrNotExist) || len(name) >= variables.MaxKey {
			break
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s@%s%d", v.Key, zeros, tokens)
	}
	text, err := access.ReadAll(ctx, a, v.in(".summary/"+name))
	return string(text), err
}
