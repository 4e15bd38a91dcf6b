package operations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ctxfs/access"
	"ctxfs/variables"
)

// VariablesDir is where the variables lie in the store's files.
const VariablesDir = "vars"

// Variable is where a variable is, or shall be.
type Variable struct {
	Scope variables.Scope // "" where nobody said
	Key   string
}

// Path is that of the variable's file.
func (v Variable) Path() string { return v.in(v.Key) }

func (v Variable) refPath() string      { return v.in(".ref/" + v.Key) }
func (v Variable) in(key string) string { return VariablesDir + "/" + string(v.Scope) + "/" + key }

// Session reports whether it is a session variable.
func (v Variable) Session() bool { return strings.HasPrefix(string(v.Scope), "session:") }

// ParseVariable reads KEY or SCOPE/KEY, where scope, which may be "", says no
// other scope; *ArgumentError.
func (a *Actor) ParseVariable(arg, scope string) (Variable, error) {
	v := Variable{Key: arg}
	if in, key, ok := strings.Cut(arg, "/"); ok {
		if scope != "" {
			return v, badArgument(fmt.Errorf("%q names a scope, and scope another", arg))
		}
		v.Key, scope = key, in
	}
	var err error
	if scope != "" {
		v.Scope, err = a.ParseScope(scope)
	}
	if err == nil {
		err = badArgument(variables.CheckKey(v.Key))
	}
	return v, err
}

// ParseScope reads the name of a scope; "agent" and "session" are the
// caller's own. *ArgumentError.
func (a *Actor) ParseScope(text string) (variables.Scope, error) {
	switch {
	case text == "agent" && a.Caller.Agent != "":
		return variables.AgentScope(a.Caller.Agent), nil
	case text == "session" && a.Caller.Session != "":
		return variables.SessionScope(a.Caller.Session), nil
	case text == "agent" || text == "session":
		return "", badArgument(fmt.Errorf("which %s? say %s:ID, or start ctxfs with --%s ID", text, text, text))
	}
	s, err := variables.ParseScope(text)
	return s, badArgument(err)
}

// find says where the caller sees a variable of which nobody said the scope.
func (a *Actor) find(ctx context.Context, v Variable) (Variable, error) {
	scopes := []variables.Scope{v.Scope}
	if v.Scope == "" {
		scopes = variables.Scopes(a.Caller)
	}
	for _, s := range scopes {
		v.Scope = s
		_, err := a.Stat(ctx, v.Path())
		if !errors.Is(err, fs.ErrNotExist) {
			return v, err
		}
	}
	return v, noVariable(v.Key, scopes...)
}

func noVariable(key string, scopes ...variables.Scope) error {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return fmt.Errorf("there is no variable %q in %s", key, strings.Join(names, ", "))
}

// Existing is ParseVariable for a variable that must be there: without a scope
// it is looked up in the caller's session, then among its agent's variables,
// then among the global ones.
func (a *Actor) Existing(ctx context.Context, arg, scope string) (Variable, error) {
	v, err := a.ParseVariable(arg, scope)
	if err != nil {
		return v, err
	}
	return a.find(ctx, v)
}

// Ref reads the handle of a variable.
func (a *Actor) Ref(ctx context.Context, v Variable) (variables.Ref, error) {
	text, err := access.ReadAll(ctx, a, v.refPath())
	if errors.Is(err, fs.ErrNotExist) {
		return variables.Ref{}, noVariable(v.Key, v.Scope)
	}
	if err != nil {
		return variables.Ref{}, err
	}
	return variables.ParseRef(text)
}

// RemoveVariable removes a variable, durably.
func (a *Actor) RemoveVariable(ctx context.Context, v Variable) error {
	err := a.Remove(ctx, v.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return noVariable(v.Key, v.Scope)
	}
	return err
}
