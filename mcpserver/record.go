package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ctxfs/invocations"
	"ctxfs/operations"
)

// call is what recording must know of the call that it surrounds.
type call struct {
	actor *operations.Actor // who has entered, and must leave
	did   string            // the line of the history
}

type callKey struct{}

// callOf is the call that a handler runs for.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

// recording puts every call of a tool into the history of invocations, in the
// time in which the tool has the store.
func (s *Server) recording(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		params, ok := req.GetParams().(*mcp.CallToolParamsRaw)
		if !ok || method != "tools/call" {
			return next(ctx, method, req)
		}
		s.calls.Add(1)
		defer s.calls.Done()
		e := invocations.Entry{ToolName: params.Name, Params: json.RawMessage(params.Arguments), Timestamp: s.o.Now(), ID: uuid.New()}
		c := &call{}
		res, err := next(context.WithValue(ctx, callKey{}, c), method, req)
		result, ok := res.(*mcp.CallToolResult)
		if err == nil && ok && result.IsError {
			explainArguments(result, params.Name)
		}
		fillIn(&e, result, c.did, err)
		if recordErr := s.record(context.WithoutCancel(ctx), c.actor, e); recordErr != nil {
			s.o.Log.Error("the invocation is not recorded", "tool", params.Name, "err", recordErr)
		}
		if c.actor != nil {
			if leaveErr := s.door.leave(); leaveErr != nil && err == nil {
				return failed(leaveErr), nil
			}
		}
		return res, err
	}
}

// record adds to the history, through a where a call has the store.
func (s *Server) record(ctx context.Context, a *operations.Actor, e invocations.Entry) error {
	if a != nil {
		return a.Record(ctx, e)
	}
	a, err := s.door.enter(ctx)
	if err != nil {
		return err
	}
	return errors.Join(a.Record(ctx, e), s.door.leave())
}

// fillIn puts into e how the call went.
func fillIn(e *invocations.Entry, result *mcp.CallToolResult, did string, failure error) {
	text := ""
	success := failure == nil && result != nil && !result.IsError
	switch {
	case failure != nil:
		text = failure.Error()
	case result != nil:
		text = textOf(result)
	}
	if !success {
		did = firstLine(text)
	}
	e.ToolName = strings.ToValidUTF8(cutText(e.ToolName), "\uFFFD")
	if e.ToolName == "" {
		e.ToolName = "?"
	}
	e.Params, e.Result = shortened(e.Params), mustJSON(cutText(strings.ToValidUTF8(text, "\uFFFD")))
	e.Success, e.Summary = &success, &did
}

// textOf is the text of an answer.
func textOf(result *mcp.CallToolResult) string {
	var all []string
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return cutText(strings.ToValidUTF8(line, "\uFFFD"))
}

// explainArguments adds to what the SDK says of arguments that fit no schema
// what to do.
func explainArguments(result *mcp.CallToolResult, name string) {
	text := textOf(result)
	if result.StructuredContent == nil && strings.HasPrefix(text, `validating "arguments"`) {
		result.Content = []mcp.Content{&mcp.TextContent{Text: text + " (give the arguments that the input schema of " + name + " names, with their types)"}}
	}
}
