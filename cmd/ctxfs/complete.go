package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/operations"
	"ctxfs/variables"
)

// completions is how many names the shell is offered at most.
const completions = 200

// mounted is the store for a completion: only one that a daemon serves, as
// nobody wants a lock taken by pressing a key.
func (f *reachFlags) mounted() (*reached, bool) {
	store, point, err := findStore(f.store)
	if err != nil || point == "" {
		return nil, false
	}
	return newReached(access.NewMount(point, nil), store, point, f.caller(os.Getenv)), true
}

// completeKeys offers variables: the keys that the caller sees without a
// scope, and those of a scope that has been begun, as agent:a/.
func (f *reachFlags) completeKeys(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	r, ok := f.mounted()
	if !ok || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	scopes, before, prefix := variables.Scopes(r.Caller), "", begun
	if scope, key, ok := strings.Cut(begun, "/"); ok {
		s, err := r.ParseScope(scope)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		scopes, before, prefix = []variables.Scope{s}, scope+"/", key
	}
	var keys []string
	err := r.EachVariable(context.Background(), scopes, "", prefix, func(m variables.Meta) error {
		if len(keys) == completions {
			return errEnough
		}
		keys = append(keys, before+m.Key)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, cobra.ShellCompDirectiveError
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

var errEnough = errors.New("enough")

// completeMemories offers the memories as a first argument, files after it.
func (f *reachFlags) completeMemories(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	r, ok := f.mounted()
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	infos, err := r.List(context.Background(), operations.MemoriesDir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, i := range infos {
		if strings.HasPrefix(i.Name, begun) && len(names) < completions {
			names = append(names, i.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeMounts offers the mountpoints of ctxfs mounts, asking none of them.
func completeMounts(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	all, err := mounts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var points []string
	for _, m := range all {
		if len(args) == 0 && m.Type == fstype && strings.HasPrefix(m.Point, begun) {
			points = append(points, m.Point)
		}
	}
	return points, cobra.ShellCompDirectiveNoFileComp
}
