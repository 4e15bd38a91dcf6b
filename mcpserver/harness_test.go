package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ctxfs/access"
	"ctxfs/index"
	"ctxfs/operations"
	"ctxfs/room"
)

var noon = time.Date(2026, 2, 22, 12, 0, 0, 0, time.UTC)

// world is a server on a store of its own, and its client.
type world struct {
	t      testing.TB
	dir    string
	client *mcp.ClientSession
	reach  func() (*operations.Actor, error) // may be replaced between calls
	found  func(index.Query) ([]index.Hit, string, error)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.reach = func() (*operations.Actor, error) { return w.open(w.dir) }
	w.found = func(index.Query) ([]index.Hit, string, error) { return nil, "", nil }
	s := New(Options{
		Version: "test",
		Session: "own",
		Now:     func() time.Time { return noon },
		Log:     slog.New(slog.DiscardHandler),
		Reach:   func(context.Context) (*operations.Actor, error) { return w.reach() },
		Search:  func(_ context.Context, q index.Query) ([]index.Hit, string, error) { return w.found(q) },
	})
	here, there := mcp.NewInMemoryTransports()
	done := make(chan error, 1)
	go func() { done <- s.Run(context.WithoutCancel(t.Context()), there) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.client = client
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) open(dir string) (*operations.Actor, error) {
	caller := room.Caller{PID: uint32(os.Getpid()), UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Agent: "alice"}
	files, err := access.OpenStore(context.Background(), access.Directory(dir), access.Options{Caller: caller})
	if err != nil {
		return nil, err
	}
	return &operations.Actor{Files: files, Caller: caller}, nil
}

// call returns the texts of an answer.
func (w *world) call(tool string, args any) (texts []string, failed bool) {
	w.t.Helper()
	res, err := w.client.CallTool(context.WithoutCancel(w.t.Context()), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		w.t.Error(err)
		return []string{""}, true
	}
	for _, c := range res.Content {
		texts = append(texts, c.(*mcp.TextContent).Text)
	}
	return texts, res.IsError
}

// must is the text of an answer that is no error.
func (w *world) must(tool, args string) string {
	w.t.Helper()
	texts, failed := w.call(tool, json.RawMessage(args))
	if failed {
		w.t.Errorf("%s %s: %s", tool, args, texts[0])
	}
	return texts[0]
}
