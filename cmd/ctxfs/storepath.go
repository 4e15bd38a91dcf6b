package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ctxfs/access"
)

// Where the store and its configuration are by default, below the home
// directory.
const (
	defaultStore  = ".local/share/single-file-agents/context"
	defaultConfig = ".config/single-file-agents/config.json"
)

// storePath returns where the store is: flag, then $SFA_CONTEXT_STORE, then
// contextStore.path of the configuration file ($SFA_CONFIG or the default one),
// then the default; a directory, made absolute, or the URL of a database. Where
// that is the mountpoint of a live ctxfs mount it is the store behind it.
// getenv is os.Getenv.
func storePath(flag string, getenv func(string) string, all []mount) (access.Location, error) {
	named, err := namedStore(flag, getenv)
	if err != nil {
		return access.Location{}, err
	}
	if strings.Contains(named, "://") {
		return database(named, getenv)
	}
	dir, err := resolve(named)
	if err != nil {
		return access.Location{}, err
	}
	m, ok := ctxfsAbove(all, dir)
	switch {
	case !ok:
		return access.Directory(dir), nil
	case m.Point == dir && access.IsURL(m.Source):
		return database(m.Source, getenv)
	case m.Point == dir:
		return access.Directory(m.Source), nil
	}
	return access.Location{}, fmt.Errorf("the store %s lies inside the ctxfs mount at %s; name the store itself, %s, or another directory", named, m.Point, m.Source)
}

// mountNamed is the live ctxfs mount whose mountpoint the store is named by.
func mountNamed(flag string, getenv func(string) string, all []mount) (mount, bool) {
	named, err := namedStore(flag, getenv)
	if err != nil || strings.Contains(named, "://") {
		return mount{}, false
	}
	dir, err := resolve(named)
	if err != nil {
		return mount{}, false
	}
	m, ok := mountAt(all, dir)
	return m, ok && m.Type == fstype
}

// database is the store at a URL, with its place on this host below the
// directory of states.
func database(name string, getenv func(string) string) (access.Location, error) {
	if scheme, _, _ := strings.Cut(name, "://"); !access.IsURL(name) {
		return access.Location{}, fmt.Errorf("a store is a directory or a database, postgres://USER@HOST/DATABASE; nothing is known of %s://", printable(scheme))
	}
	dir, err := stateDir(getenv)
	if err != nil {
		return access.Location{}, fmt.Errorf("where may this host keep what belongs to it alone? %w", err)
	}
	return access.Database(name, filepath.Join(dir, "stores"))
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
	if dir != "" && !filepath.IsAbs(dir) && !strings.Contains(dir, "://") {
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
