package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// Session is the context manager of one session (reference/2,
// IContextManager). Safe for concurrent use; several of one id are the same.
type Session struct {
	r  *Results
	id string
}

// Session returns the results of the session id. It needs no making.
func (r *Results) Session(id string) *Session { return &Session{r, id} }

// SaveContext saves the output of a tool and returns the path of its file,
// from the top of the mount. args and result are written as JSON; a
// json.RawMessage is taken as it is. taskID and queryID may be empty. What
// cannot be written as JSON, or named, is a *codec.Refusal with EINVAL.
func (s *Session) SaveContext(ctx context.Context, toolName string, args map[string]any, result any, taskID, queryID string) (filepath string, err error) {
	c := Context{ToolName: toolName, Timestamp: s.r.o.Now(), QueryID: queryID, SessionID: s.id, TaskID: taskID}
	if args != nil {
		if c.Args, err = encode(args); err != nil {
			return "", refuse("", 0, "args", "they are no JSON: "+err.Error(), "give arguments that can be written as JSON")
		}
	}
	if c.Result, err = encode(result); err != nil {
		return "", refuse("", 0, "result", "it is no JSON: "+err.Error(), "give a result that can be written as JSON")
	}
	name, content, err := c.Encode()
	if err != nil {
		return "", fmt.Errorf("save a result of %s: %w", toolName, err)
	}
	if len(content) > MaxSize {
		return "", tooLong(name)
	}
	if _, err := s.r.publish(ctx, save{name: name, body: bytes.NewReader(content), mode: 0o644}); err != nil {
		return "", fmt.Errorf("save a result of %s: %w", toolName, err)
	}
	return path(name), nil
}

// LoadContext loads a result of any session, by the path that SaveContext or
// a pointer gave, or by the name alone. It is backing.ErrNotFound where there
// is none (any more).
func (s *Session) LoadContext(ctx context.Context, filepath string) (*Context, error) {
	name := filepath[strings.LastIndexByte(filepath, '/')+1:]
	c, err := s.r.load(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", filepath, err)
	}
	return c, nil
}

// ListContexts returns pointers to the results of a session, the oldest
// first. It reads no content.
func (s *Session) ListContexts(ctx context.Context, sessionID string) ([]ContextPointer, error) {
	var all []ContextPointer
	for _, l := range s.r.List(sessionID) {
		all = append(all, l.ContextPointer)
	}
	return all, ctx.Err()
}

// ClearContexts clears the results of this session, at its end.
func (s *Session) ClearContexts(ctx context.Context) error {
	_, err := s.r.Clear(ctx, s.id)
	return err
}

// Select loads those results of this session that have these numbers in the
// list which [List] writes of [Results.List]. A number that is not in it is a
// *codec.Refusal with EINVAL, and nothing is loaded.
func (s *Session) Select(ctx context.Context, numbers []int) ([]*Context, error) {
	picked, err := Pick(s.r.List(s.id), numbers)
	if err != nil {
		return nil, err
	}
	var loaded []*Context
	for _, l := range picked {
		c, err := s.LoadContext(ctx, l.Filepath)
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, c)
	}
	return loaded, nil
}

// List returns what is known of the results of a session, or of all for "",
// in the order in which they were saved. It reads no content.
func (r *Results) List(sessionID string) []Listed {
	var all []Listed
	for _, rec := range r.index.of(sessionID) {
		all = append(all, rec.listed)
	}
	return all
}

// Clear removes the results of a session, or of all for "", and returns how
// many there were.
func (r *Results) Clear(ctx context.Context, sessionID string) (int, error) {
	n := 0
	for _, rec := range r.index.of(sessionID) {
		err := r.remove(ctx, rec.name)
		if errors.Is(err, backing.ErrNotFound) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("clear session %s: %w", sessionID, err)
		}
		n++
	}
	return n, nil
}

// listing is the content of .list: one JSON object a line for each result that
// c may read, as a description quotes the result. Who is not known sees all.
func (r *Results) listing(c room.Caller) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, rec := range r.index.of("") {
		if c.PID != 0 && !rec.info().Permits(c, 4) {
			continue
		}
		if err := e.Encode(rec.listed); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func tooLong(name string) error {
	return &codec.Refusal{Errno: syscall.EFBIG, Path: path(name), Reason: fmt.Sprintf("a result has at most %d MiB", MaxSize>>20),
		Fix: "save the parts that matter as results of their own"}
}
