package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"ctxfs/backing"
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
	temp    string // the directory of an index that ends with this process
}

// openSearching opens the index of the store in dir. That of a store which
// cannot be written lies elsewhere, for as long as this process lives.
func openSearching(dir string, readOnly bool, src index.Source, log *slog.Logger) (*searching, error) {
	f := &searching{started: time.Now()}
	path := filepath.Join(dir, indexFile)
	if readOnly {
		temp, err := os.MkdirTemp("", "ctxfs-index-")
		if err != nil {
			return nil, fmt.Errorf("make a place for the index of a store that cannot be written: %w", err)
		}
		f.temp, path = temp, filepath.Join(temp, filepath.Base(indexFile))
	}
	f.Index = index.Open(path, src, index.Options{Log: log})
	return f, nil
}

// Close closes the index.
func (f *searching) Close() error {
	err := f.Index.Close()
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
