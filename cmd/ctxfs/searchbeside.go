package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/backing"
	"ctxfs/index"
)

// beside searches the index that the daemon at point writes.
func (f *searchFlags) beside(cmd *cobra.Command, at access.Location, point string) ([]index.Hit, error) {
	s, err := askIndex(cmd.Context(), point)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Error != "":
		fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: the index does not follow at the moment: %s\n", printable(s.Error))
	case s.Building:
		fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: the index is being built: %d entries are in it, %d are not; some may be missing here\n", s.Entries, s.Todo)
	}
	if s.Path == "" {
		s.Path = filepath.Join(at.Name, indexFile)
	}
	hits, err := f.readFile(cmd.Context(), at, s.Path)
	if !index.IsDamaged(err) || s.Building || s.Error != "" {
		return hits, err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "ctxfs: the index is damaged and is made anew\n")
	if err := os.Remove(s.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the damaged index: %w", err)
	}
	err = waitForIndex(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context) index.Status {
		s, err := askIndex(ctx, point) // the daemon misses the file, and makes it
		if err != nil {
			s.Error = err.Error()
		}
		return s
	})
	if err != nil {
		return nil, err
	}
	return f.readFile(cmd.Context(), at, s.Path)
}

// askIndex asks the daemon at point how far its index is.
func askIndex(ctx context.Context, point string) (s index.Status, err error) {
	text, err := access.ReadAll(ctx, access.NewMount(point, nil), backing.Own+"/"+indexControl)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("ask the daemon at %s how far the index is: %w", point, err)
	}
	return s, nil
}

// readFile searches the index in a file that another process writes.
func (f *searchFlags) readFile(ctx context.Context, at access.Location, path string) ([]index.Hit, error) {
	store, err := access.OpenReading(ctx, at, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	r, err := index.OpenReader(ctx, path, storeContent{store})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	hits, err := r.Search(ctx, f.q)
	return hits, errors.Join(err, r.Close(), store.Close())
}

// storeContent reads entries straight from the store.
type storeContent struct{ backing.Store }

func (s storeContent) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	key, err := backing.ParseKey(path)
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, key, rev)
}
