package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"ctxfs/access"
	"ctxfs/operations"
)

// ownResults holds the tool results of a server while no daemon serves the
// store: they must outlive the call that saved them, and end with the server.
// When a daemon comes they are handed over to it.
type ownResults struct {
	mu    sync.Mutex // guards the rest, also while results are handed over
	dir   string
	store *access.Store
}

// at is where results are: a's own store where a daemon serves it.
func (o *ownResults) at(ctx context.Context, a *operations.Actor) (*operations.Actor, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a.Point != "" {
		return a, o.handOver(ctx, a)
	}
	if o.store == nil {
		dir, err := os.MkdirTemp("", "ctxfs-mcp-")
		if err != nil {
			return nil, fmt.Errorf("make a place for tool results: %w", err)
		}
		store, err := access.OpenStore(ctx, access.Directory(dir), access.Options{Caller: a.Caller})
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		o.dir, o.store = dir, store
	}
	return &operations.Actor{Files: o.store, Caller: a.Caller}, nil
}

// handOver moves what is here to a's store.
func (o *ownResults) handOver(ctx context.Context, a *operations.Actor) error {
	if o.store == nil {
		return nil
	}
	here := &operations.Actor{Files: o.store, Caller: a.Caller}
	all, err := here.Results(ctx, "")
	if err != nil {
		return err
	}
	for _, l := range all {
		c, err := here.Open(ctx, l.Filepath)
		if err != nil {
			return err
		}
		if err := errors.Join(a.Write(ctx, l.Filepath, c, nil), c.Close()); err != nil {
			return fmt.Errorf("hand %s over to the mount: %w", l.Filepath, err)
		}
	}
	return o.end()
}

// close ends what is here.
func (o *ownResults) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.end()
}

func (o *ownResults) end() error {
	if o.store == nil {
		return nil
	}
	err := errors.Join(o.store.Close(), os.RemoveAll(o.dir))
	o.store, o.dir = nil, ""
	return err
}
