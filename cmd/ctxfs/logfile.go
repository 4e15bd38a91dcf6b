package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// logLimit is the size in bytes beyond which the log is renamed to FILE.1, and
// a new one begun, when a daemon starts.
const logLimit = 10 << 20

// logFilePath returns flag if it is set, else a file below $XDG_STATE_HOME or
// ~/.local/state that is named after the mountpoint.
func logFilePath(flag, mountpoint string, getenv func(string) string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	dir, err := stateDir(getenv)
	if err != nil {
		return "", fmt.Errorf("where to log? there is no --log, and %w", err)
	}
	name := strings.ReplaceAll(strings.Trim(mountpoint, "/"), "/", "-")
	const longest = 200 // bytes; names end at 255
	if len(name) > longest {
		name = name[len(name)-longest:]
	}
	return filepath.Join(dir, name+".log"), nil
}

// stateDir is where ctxfs keeps what belongs to this host and user: below
// $XDG_STATE_HOME or ~/.local/state.
func stateDir(getenv func(string) string) (string, error) {
	dir := getenv("XDG_STATE_HOME")
	if dir == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New("neither $XDG_STATE_HOME nor $HOME is set")
		}
		dir = filepath.Join(home, ".local/state")
	}
	return filepath.Join(dir, "ctxfs"), nil
}

// openLog opens the log to append to it, its directory made, the old one put
// aside where it has become large.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the log's directory: %w", err)
	}
	st, err := os.Stat(path)
	switch {
	case err == nil && st.Mode().IsRegular() && st.Size() > logLimit:
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("put the old log aside: %w", err)
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look at the log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}
