package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"ctxfs/backing"
	"ctxfs/operations"
)

// entry returns the path of an entry from the store's root. arg is a path in
// a mount, also of a link in .ctxfs/views, a path in the store's directory, or
// one from the store's root. Where it, or the working directory, lies in a
// mount and --store names nothing, f means that mount's store from then on.
func (f *reachFlags) entry(arg string) (string, error) {
	abs, err := resolve(arg)
	if err != nil {
		return "", err
	}
	all, err := mounts()
	if err != nil {
		return "", err
	}
	if m, ok := ctxfsAbove(all, abs); ok {
		rel, err := f.entryInMount(m, abs)
		if err != nil || rel != "" {
			return rel, err
		}
	}
	store, err := storePath(f.store, os.Getenv, all)
	if err != nil {
		return "", err
	}
	if inside(abs, store.Name) {
		if _, err := os.Lstat(abs); err == nil {
			return operations.EntryPath(strings.TrimPrefix(abs[len(store.Name):], "/"))
		}
	}
	if filepath.IsAbs(arg) {
		return "", fmt.Errorf("%s: %w, neither in a mount nor in the store %s", arg, fs.ErrNotExist, store)
	}
	return operations.EntryPath(path.Clean(arg))
}

// entryInMount is the path from the store's root of what is at abs in m; ""
// where nothing is.
func (f *reachFlags) entryInMount(m mount, abs string) (string, error) {
	if _, s := probe(m.Point); s != serving {
		return "", fmt.Errorf("the mount at %s cannot be used: %s", m.Point, s)
	}
	if f.store == "" {
		f.store = m.Source
	}
	if inside(abs, m.Point+"/"+backing.Own+"/views") {
		target, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return "", err
		}
		abs = target
	}
	if _, err := os.Lstat(abs); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(m.Point, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s leads out of the mount at %s", abs, m.Point)
	}
	return operations.EntryPath(rel)
}
