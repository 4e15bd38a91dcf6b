package operations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"ctxfs/results"
)

// ResultsDir is where the results lie in the store's files.
const ResultsDir = "results"

// SaveResult saves the output of a tool, and says where.
func (a *Actor) SaveResult(ctx context.Context, c results.Context) (results.ContextPointer, error) {
	name, content, err := c.Encode()
	if err != nil {
		return results.ContextPointer{}, err
	}
	path := ResultsDir + "/" + name
	if err := a.Write(ctx, path, bytes.NewReader(content), nil); err != nil {
		return results.ContextPointer{}, err
	}
	return results.ContextPointer{Filepath: path, ToolName: c.ToolName,
		Timestamp: c.Timestamp.UnixMilli(), SizeBytes: int64(len(content)), QueryID: c.QueryID}, nil
}

// Results are those of a session, of all where it is "", in the order in which
// they were saved.
func (a *Actor) Results(ctx context.Context, session string) ([]results.Listed, error) {
	var all []results.Listed
	err := a.eachLine(ctx, ResultsDir+"/.list", func(line []byte) error {
		var l results.Listed
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("read the list of results: %w", err)
		}
		if session == "" || l.SessionID == session {
			all = append(all, l)
		}
		return nil
	})
	return all, err
}

// ClearResults removes what Results lists, and returns how many there were.
func (a *Actor) ClearResults(ctx context.Context, session string) (n int, err error) {
	list, err := a.Results(ctx, session)
	if err != nil {
		return 0, err
	}
	for _, l := range list {
		err := a.Remove(ctx, l.Filepath)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
		n++
	}
	return n, nil
}
