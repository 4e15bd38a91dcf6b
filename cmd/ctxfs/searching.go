package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"ctxfs/backing"
	"ctxfs/fusefs"
	"ctxfs/index"
	"ctxfs/room"
	"ctxfs/views"
)

// indexFile is where the index lies in a store.
const indexFile = backing.Own + "/index.sqlite"

// indexControl is the file in .ctxfs that says how far the index has come.
const indexControl = "index"

// searching is the index of a store that this process has, and the views.
type searching struct {
	*index.Index
	started time.Time
	path    string                    // of the file, for others
	own     *os.File                  // the directory that it lies in; nil with temp
	temp    string                    // the directory of an index that ends with this process
	mount   atomic.Pointer[fusefs.FS] // that the index gives way to; may be none
}

func (f *searching) asked() int64 {
	if fs := f.mount.Load(); fs != nil {
		return fs.Requests()
	}
	return 0
}

// openSearching opens the index of a store that has dir for it. That of a store which
// cannot be written lies elsewhere, for as long as this process lives.
func openSearching(dir string, readOnly bool, src index.Source, log *slog.Logger) (*searching, error) {
	f := &searching{started: time.Now(), path: filepath.Join(dir, indexFile)}
	var at string
	var err error
	if readOnly {
		if f.temp, err = os.MkdirTemp("", "ctxfs-index-"); err != nil {
			return nil, fmt.Errorf("make a place for the index of a store that cannot be written: %w", err)
		}
		f.path = filepath.Join(f.temp, filepath.Base(indexFile))
		at = f.path
	} else {
		// By a descriptor: the directory may be swapped for a symbolic link.
		if f.own, err = openBelow(dir, backing.Own); err != nil {
			return nil, fmt.Errorf("open the directory of the index: %w", err)
		}
		at = fmt.Sprintf("/proc/self/fd/%d/%s", f.own.Fd(), filepath.Base(indexFile))
	}
	f.Index = index.Open(at, src, index.Options{Log: log, Asked: f.asked})
	return f, nil
}

// openBelow opens the directory of that name in dir, which may be a link to no
// other place.
func openBelow(dir, name string) (*os.File, error) {
	top, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f, err := top.Open(name)
	if cerr := top.Close(); err == nil && cerr != nil {
		return nil, errors.Join(cerr, f.Close())
	}
	return f, err
}

// Status names the file by its path in the store.
func (f *searching) Status(ctx context.Context) index.Status {
	s := f.Index.Status(ctx)
	s.Path = f.path
	return s
}

// Close closes the index.
func (f *searching) Close() error {
	err := f.Index.Close()
	if f.own != nil {
		err = errors.Join(err, f.own.Close())
	}
	if f.temp != "" {
		err = errors.Join(err, os.RemoveAll(f.temp))
	}
	return err
}

func (f *searching) views() room.Room { return views.New(f.Index, f.started) }

// control is the file that a search asks before it reads the index.
func (f *searching) control() map[string]func() ([]byte, error) {
	return map[string]func() ([]byte, error){indexControl: func() ([]byte, error) {
		b, err := json.Marshal(f.Status(context.Background()))
		return append(b, '\n'), err
	}}
}
