package operations

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"ctxfs/invocations"
)

// HistoryFile is the history of invocations in the store's files.
const HistoryFile = "invocations/context.jsonl"

// EachInvocation calls do with the invocations that f asks for, the newest
// last.
func (a *Actor) EachInvocation(ctx context.Context, f invocations.Filter, do func(invocations.Entry) error) error {
	c, err := a.Open(ctx, HistoryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	begin, err := invocations.Begin(c, c.Size(), f)
	if err != nil {
		return err
	}
	for e, err := range invocations.Entries(io.NewSectionReader(c, begin, c.Size()-begin)) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && f.Matches(e) {
			err = do(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Record adds an invocation to the history.
func (a *Actor) Record(ctx context.Context, e invocations.Entry) error {
	line, err := e.MarshalJSON()
	if err != nil {
		return err
	}
	return a.Append(ctx, HistoryFile, append(line, '\n'))
}
