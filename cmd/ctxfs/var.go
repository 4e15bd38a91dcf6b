package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/variables"
)

// varsDir is where the variables lie in the store's files.
const varsDir = "vars/"

func newVar() *cobra.Command {
	f := &reachFlags{}
	cmd := &cobra.Command{
		Use:   "var",
		Short: "Set, read and pass variables",
		Long: `Variables are values under keys in scopes. Agents hand each other a small ref
instead of the content.

A scope is global, agent:ID or session:ID; "agent" and "session" alone are the
caller's own. A key is KEY, or SCOPE/KEY as ` + "`ctxfs var ls`" + ` prints it. Where a mount
serves the store the variables are files there too, vars/SCOPE/KEY.`,
		Example: `  seq 1 100000 | ctxfs var set numbers
  ctxfs var ref numbers > ref.json       # 200 bytes, whatever the value's size
  ctxfs var resolve - < ref.json`,
		Args: args(noSuchCommand),
		RunE: needSubcommand,
	}
	f.add(cmd.PersistentFlags())
	cmd.AddCommand(newVarSet(f), newVarResolve(f), newVarLs(f))
	for _, sub := range []*cobra.Command{newVarGet(f), newVarRef(f), newVarRm(f), newVarPromote(f), newVarSummary(f)} {
		sub.ValidArgsFunction = f.completeKeys
		cmd.AddCommand(sub)
	}
	return cmd
}

// flagsOfOne are the flags of a command on one variable.
type flagsOfOne struct {
	*reachFlags
	scope string
	json  bool
}

func (f *flagsOfOne) add(cmd *cobra.Command, scope, json string) {
	cmd.Flags().StringVar(&f.scope, "scope", "", scope)
	cmd.Flags().BoolVar(&f.json, "json", false, json)
	completeScopes(cmd, "scope")
}

func completeScopes(cmd *cobra.Command, flag string) {
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions([]string{"global", "agent", "session"}, cobra.ShellCompDirectiveNoFileComp))
}

func completeTypes(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]string{"text", "json", "memory", "result", "stream"}, cobra.ShellCompDirectiveNoFileComp))
}

// variable is where a variable is, or shall be.
type variable struct {
	scope variables.Scope // "" where nobody said
	key   string
}

func (v variable) path() string         { return varsDir + string(v.scope) + "/" + v.key }
func (v variable) refPath() string      { return varsDir + string(v.scope) + "/.ref/" + v.key }
func (v variable) in(key string) string { return varsDir + string(v.scope) + "/" + key }

// parseVariable reads KEY or SCOPE/KEY, with what --scope says.
func (r *reached) parseVariable(arg, scope string) (variable, error) {
	v := variable{key: arg}
	if in, key, ok := strings.Cut(arg, "/"); ok {
		if scope != "" {
			return v, usageError{fmt.Errorf("%q names a scope, and --scope another", arg)}
		}
		v.key, scope = key, in
	}
	var err error
	if scope != "" {
		v.scope, err = r.parseScope(scope)
	}
	if err == nil {
		if err = variables.CheckKey(v.key); err != nil {
			err = usageError{err}
		}
	}
	return v, err
}

func (r *reached) parseScope(text string) (variables.Scope, error) {
	switch {
	case text == "agent" && r.caller.Agent != "":
		return variables.AgentScope(r.caller.Agent), nil
	case text == "session" && r.caller.Session != "":
		return variables.SessionScope(r.caller.Session), nil
	case text == "agent" || text == "session":
		return "", usageError{fmt.Errorf("which %s? say %s:ID, or --%s", text, text, text)}
	}
	s, err := variables.ParseScope(text)
	if err != nil {
		return "", usageError{err}
	}
	return s, nil
}

// find says where the caller sees a variable of which nobody said the scope.
func (r *reached) find(ctx context.Context, v variable) (variable, error) {
	scopes := []variables.Scope{v.scope}
	if v.scope == "" {
		scopes = variables.Scopes(r.caller)
	}
	for _, s := range scopes {
		v.scope = s
		_, err := r.Stat(ctx, v.path())
		if !errors.Is(err, fs.ErrNotExist) {
			return v, err
		}
	}
	return v, fmt.Errorf("there is no variable %q in %s", v.key, printable(join(scopes)))
}

func join(scopes []variables.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// existing is parseVariable and find.
func (r *reached) existing(ctx context.Context, arg, scope string) (variable, error) {
	v, err := r.parseVariable(arg, scope)
	if err != nil {
		return v, err
	}
	return r.find(ctx, v)
}

// ref reads the handle of a variable.
func (r *reached) ref(ctx context.Context, v variable) (variables.Ref, error) {
	text, err := access.ReadAll(ctx, r, v.refPath())
	if errors.Is(err, fs.ErrNotExist) {
		return variables.Ref{}, fmt.Errorf("there is no variable %q in %s", v.key, v.scope)
	}
	if err != nil {
		return variables.Ref{}, err
	}
	return variables.ParseRef(text)
}
