package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"ctxfs/operations"
	"ctxfs/variables"
)

func newVarLs(f *reachFlags) *cobra.Command {
	var l varLs
	cmd := &cobra.Command{
		Use:        "ls [flags]",
		SuggestFor: []string{"list"},
		Short:      "List the variables, without reading them",
		Long: `List the variables of all scopes, or of one, with type and size. No content is
read.`,
		Example: `  ctxfs var ls --scope agent --type json --prefix plan`,
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if l.typ != "" {
				if _, err := variables.ParseType(l.typ); err != nil {
					return usageError{err}
				}
			}
			return f.reach(cmd, func(ctx context.Context, r *reached) error { return l.run(ctx, cmd, r) })
		},
	}
	cmd.Flags().StringVar(&l.scope, "scope", "", "only this `SCOPE`")
	cmd.Flags().StringVar(&l.typ, "type", "", "only text, json, memory, result or stream")
	cmd.Flags().StringVar(&l.prefix, "prefix", "", "only keys that begin with this `TEXT`")
	cmd.Flags().BoolVar(&l.json, "json", false, "print JSON: one variable a line")
	completeScopes(cmd, "scope")
	completeTypes(cmd)
	return cmd
}

type varLs struct {
	scope, typ, prefix string
	json               bool
}

func (l *varLs) run(ctx context.Context, cmd *cobra.Command, r *reached) error {
	scopes, err := r.Scopes(ctx, l.scope)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if l.json {
		return r.EachVariable(ctx, scopes, l.typ, l.prefix, func(m variables.Meta) error { return printJSON(out, m) })
	}
	var t *table
	err = r.EachVariable(ctx, scopes, l.typ, l.prefix, func(m variables.Meta) error {
		if t == nil {
			t = newTable(out, "VARIABLE", "TYPE", "SIZE", "CREATED")
		}
		note := ""
		if m.Persist && strings.HasPrefix(string(m.Scope), "session:") {
			note = "persisted"
		}
		t.row(string(m.Scope)+"/"+m.Key, string(m.Type), size(m.SizeBytes), stamp(m.Created), note)
		return t.err
	})
	if t != nil {
		err = errors.Join(err, t.flush())
	}
	return err
}

func newVarRm(f *reachFlags) *cobra.Command {
	o := flagsOfOne{reachFlags: f}
	cmd := &cobra.Command{
		Use:        "rm [flags] KEY...",
		SuggestFor: []string{"delete", "unset"},
		Short:      "Remove variables",
		Long:       `Remove variables, durably. Refs of them name nothing any more.`,
		Example:    `  ctxfs var rm session:s1/draft numbers`,
		Args:       args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				var errs []error
				for _, arg := range a {
					errs = append(errs, o.remove(ctx, cmd, r, arg))
				}
				return errors.Join(errs...)
			})
		},
	}
	o.add(cmd, "the `SCOPE` (default global)", "print JSON: scope and key of each that was removed")
	return cmd
}

func (o *flagsOfOne) remove(ctx context.Context, cmd *cobra.Command, r *reached, arg string) error {
	v, err := r.ParseVariable(arg, o.scope)
	if err != nil {
		return err
	}
	if v.Scope == "" {
		v.Scope = variables.Global
	}
	if err := r.RemoveVariable(ctx, v); err != nil || !o.json {
		return err
	}
	return printJSON(cmd.OutOrStdout(), map[string]string{"scope": string(v.Scope), "key": v.Key})
}

func newVarPromote(f *reachFlags) *cobra.Command {
	var from, to string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "promote [flags] KEY",
		Short: "Move a variable to another scope",
		Long: `Move a variable to another scope, over what is there: from an agent's own to the
global ones, so that everybody sees it. Refs of the old place name a removed
variable.`,
		Example: `  ctxfs var promote plan.json --from agent:planner`,
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				next, err := r.promote(ctx, a[0], from, to)
				if err != nil || !asJSON {
					return err
				}
				ref, err := r.Ref(ctx, next)
				return errors.Join(err, printJSON(cmd.OutOrStdout(), ref))
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the `SCOPE` that it is in (default: where the caller sees it)")
	cmd.Flags().StringVar(&to, "to", string(variables.Global), "the `SCOPE` that it goes to")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the new ref")
	completeScopes(cmd, "from")
	completeScopes(cmd, "to")
	return cmd
}

// promote moves a variable and returns where it is now.
func (r *reached) promote(ctx context.Context, arg, from, to string) (operations.Variable, error) {
	old, err := r.Existing(ctx, arg, from)
	if err != nil {
		return old, err
	}
	next := old
	if next.Scope, err = r.ParseScope(to); err != nil {
		return next, err
	}
	if next.Session() {
		if err := r.needsMount("a session variable", ""); err != nil {
			return next, err
		}
	}
	return next, r.Rename(ctx, old.Path(), next.Path())
}
