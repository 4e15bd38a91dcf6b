package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"ctxfs/codec"
	"ctxfs/operations"
)

// effect is what a tool does to the store.
type effect int

const (
	reads   effect = iota // changes nothing
	adds                  // loses nothing that was there
	removes               // what was there may be gone
)

// tool describes a tool to a model.
type tool struct {
	name, title, about string
	effect             effect
	repeats            bool // doing it twice is doing it once
	enums              map[string][]string
}

// answer is what a tool returns.
type answer struct {
	text string // what was asked for
	note string // what is missing in it; "" is nothing
	did  string // one line for the history
}

// handler does what a tool is for. The store is open for its time.
type handler[In any] func(ctx context.Context, a *operations.Actor, in In) (answer, error)

// add makes a tool of the server. A call that has begun is brought to its
// end, also when the client goes.
func add[In any](s *Server, t tool, do handler[In]) {
	addRaw(s, t, func(ctx context.Context, in In) (answer, error) {
		ctx = context.WithoutCancel(ctx)
		a, err := s.door.enter(ctx)
		if err != nil {
			return answer{}, err
		}
		callOf(ctx).actor = a // recording leaves
		return do(ctx, a, in)
	})
}

// addRaw is add for a tool that needs no store, or a closed one.
func addRaw[In any](s *Server, t tool, do func(ctx context.Context, in In) (answer, error)) {
	no := false
	destructive := t.effect == removes
	mcp.AddTool(s.sdk, &mcp.Tool{
		Name:        t.name,
		Title:       t.title,
		Description: t.about,
		InputSchema: schemaOf[In](t),
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: t.effect == reads,
			DestructiveHint: &destructive, IdempotentHint: t.repeats, OpenWorldHint: &no},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		ans, err := do(ctx, in)
		if err != nil {
			return failed(err), nil, nil
		}
		res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: ans.text}}}
		if ans.note != "" {
			res.Content = append(res.Content, &mcp.TextContent{Text: ans.note})
		}
		callOf(ctx).did = ans.did
		return res, nil, nil
	})
}

// failed is the answer of a tool that could not do what it should.
func failed(err error) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
	if r := (*codec.Refusal)(nil); errors.As(err, &r) {
		res.StructuredContent = refusalJSON{unix.ErrnoName(r.Errno), r.Path, r.Line, r.Field, r.Reason, r.Fix}
	}
	return res
}

// refusalJSON are the fields of a refusal, as in .ctxfs/errors.
type refusalJSON struct {
	Errno  string `json:"errno"`
	Path   string `json:"path,omitempty"`
	Line   int    `json:"line,omitempty"`
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
	Fix    string `json:"fix,omitempty"`
}

// schemaOf is the schema of a tool's arguments, in the part of JSON Schema
// that every client knows: one type a property.
func schemaOf[In any](t tool) *jsonschema.Schema {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("the arguments of %s: %v", t.name, err)) // a mistake in this package
	}
	for name, p := range schema.Properties {
		for _, typ := range p.Types {
			if typ != "null" {
				p.Type, p.Types = typ, nil
				break
			}
		}
		for _, value := range t.enums[name] {
			p.Enum = append(p.Enum, value)
		}
	}
	return schema
}
