package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Where the store and its configuration are by default, below the home
// directory.
const (
	defaultStore  = ".local/share/single-file-agents/context"
	defaultConfig = ".config/single-file-agents/config.json"
)

// storePath returns the store's directory, absolute: flag, then
// $SFA_CONTEXT_STORE, then contextStore.path of the configuration file
// ($SFA_CONFIG or the default one), then the default. Where that is the
// mountpoint of a live ctxfs mount it is the store behind it. getenv is
// os.Getenv.
func storePath(flag string, getenv func(string) string, all []mount) (string, error) {
	named, err := namedStore(flag, getenv)
	if err != nil {
		return "", err
	}
	dir, err := resolve(named)
	if err != nil {
		return "", err
	}
	m, ok := ctxfsAbove(all, dir)
	switch {
	case !ok:
		return dir, nil
	case m.Point == dir:
		return m.Source, nil
	}
	return "", fmt.Errorf("the store %s lies inside the ctxfs mount at %s; name the store itself, %s, or another directory", named, m.Point, m.Source)
}

func namedStore(flag string, getenv func(string) string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	home := getenv("HOME")
	if dir := getenv("SFA_CONTEXT_STORE"); dir != "" {
		return tilde(dir, home), nil
	}
	dir, err := configuredStore(home, getenv("SFA_CONFIG"))
	if err != nil || dir != "" {
		return dir, err
	}
	if home == "" {
		return "", errors.New("which store? there is no --store, and without $HOME no default")
	}
	return filepath.Join(home, defaultStore), nil
}

// configuredStore returns contextStore.path of the configuration file, "" if
// there is none.
func configuredStore(home, named string) (string, error) {
	config, file, err := readConfig(home, named)
	if err != nil {
		return "", err
	}
	dir := tilde(config.ContextStore.Path, home)
	if dir != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	return dir, nil
}

func tilde(path, home string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return filepath.Join(home, path[1:])
	}
	return path
}
