package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ctxfs/index"
	"ctxfs/operations"
)

// Options say for whom a server works, and on what.
type Options struct {
	Version string
	// Reach opens the store, mounted or not. It is called again after what it
	// returned was closed.
	Reach func(context.Context) (*operations.Actor, error)
	// Search asks the index. Nothing that Reach returned is open then. note
	// says what may be missing in the answer; "" is nothing.
	Search func(context.Context, index.Query) (hits []index.Hit, note string, err error)
	// Session is that of tool results and session variables where the caller
	// of Reach has none; not empty.
	Session string
	Now     func() time.Time // nil is time.Now
	Log     *slog.Logger     // nil discards
}

// Server is an MCP server. Its methods are safe for concurrent use.
type Server struct {
	o     Options
	sdk   *mcp.Server
	door  door
	own   ownResults
	calls sync.WaitGroup // those that run
	// edit serialises changes of entries that begin with reading them.
	edit sync.Mutex
}

// New makes a server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, door: door{reach: o.Reach}}
	s.sdk = mcp.NewServer(
		&mcp.Implementation{Name: "ctxfs", Title: "ctxfs context store", Version: o.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Capabilities: &mcp.ServerCapabilities{
				Tools:     &mcp.ToolCapabilities{},
				Resources: &mcp.ResourceCapabilities{},
			},
		})
	s.addMemoryTools()
	s.addResultTools()
	s.addVariableTools()
	s.addEntryTools()
	s.addHistoryTools()
	s.addResources()
	s.sdk.AddReceivingMiddleware(s.listingEntries, s.recording)
	return s
}

// Run serves one client, until it hangs up or ctx ends, and until the calls
// that run are done.
func (s *Server) Run(ctx context.Context, t mcp.Transport) error {
	err := s.sdk.Run(ctx, answered{t})
	s.calls.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("serve MCP: %w", err)
	}
	return errors.Join(err, s.own.close())
}

const instructions = `ctxfs is a store that outlives this conversation and is shared with other agents. Use it to remember, to hand over, and to keep long material out of your context:
- Entries: Markdown notes with type and tags, kept for ever with their history. Before work, search_entries for what is known; after it, write_entry what others should know (findings, decisions). update_entry changes one, supersede_entry marks one as replaced.
- Variables: values by key that are passed on as small refs instead of content (set_variable, ref, resolve, summarize).
- Tool results: long outputs of tools, put aside for this session (save_context), listed in a line each (list_contexts) and loaded when they matter (load_context).
- Memories: one context document a memory, replaced as a whole (put_context, get_context), and entries that carry the document of their moment (add_entry).
- History: read_context shows the newest tool calls.
Long answers are cut; a note at their end says how to read on. Errors say what is wrong and how to mend it.`
