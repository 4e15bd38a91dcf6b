package operations

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"ctxfs/access"
	"ctxfs/room"
)

// Actor is somebody who acts at a store.
type Actor struct {
	access.Files
	// Point is the mountpoint where a daemon serves the store; "" where this
	// process has it.
	Point  string
	Caller room.Caller
}

// ArgumentError is an argument that cannot be understood.
type ArgumentError struct{ Err error }

func (e *ArgumentError) Error() string { return e.Err.Error() }

// Unwrap returns the error within.
func (e *ArgumentError) Unwrap() error { return e.Err }

// badArgument makes an ArgumentError of an error, and nil of nil.
func badArgument(err error) error {
	if err == nil {
		return nil
	}
	return &ArgumentError{err}
}

// eachLine calls do with the lines of a file, without their ends.
func (a *Actor) eachLine(ctx context.Context, path string, do func(line []byte) error) error {
	c, err := a.Open(ctx, path)
	if err != nil {
		return err
	}
	defer c.Close()
	for lines := bufio.NewReader(c); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := do(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
}
