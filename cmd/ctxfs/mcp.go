package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/index"
	"ctxfs/mcpserver"
	"ctxfs/operations"
)

const (
	// mcpLockWait is how long a tool waits for a store that others use.
	mcpLockWait = 30 * time.Second
	// mcpMaxMessage is the longest message of a client, in bytes: an entry of
	// the greatest length, as JSON.
	mcpMaxMessage = 192 << 20
)

func newMCP() *cobra.Command {
	f := &reachFlags{wait: mcpLockWait}
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Serve the store to an MCP client as tools and resources",
		Long: `Serve the store over the Model Context Protocol on standard input and output, for
agents that call tools: put_context, get_context, write_entry, search_entries and
others; docs/mcp.md lists them and shows how clients are configured. A client
starts this command by itself.

It works on the mount where one serves the store, else on the store's directory,
which it locks only while a tool runs. Every call is recorded; "ctxfs history"
shows them. Without --agent and $CTXFS_AGENT the client's name is the agent's.`,
		Example: `  claude mcp add ctxfs -- ctxfs mcp
  ctxfs mcp --agent planner --session s1 --store ~/notes`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serveMCP(cmd) },
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *reachFlags) serveMCP(cmd *cobra.Command) error {
	in, caller, err := f.mcpClient(cmd.InOrStdin())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	stderr := cmd.ErrOrStderr()
	session := caller.Session
	if session == "" {
		session = "mcp-" + time.Now().UTC().Format("20060102T150405") + "-" + strings.ToLower(rand.Text()[:6])
	}
	s := mcpserver.New(mcpserver.Options{
		Version: version,
		Session: session,
		Log:     slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Search:  f.searchMCP,
		Reach: func(context.Context) (*operations.Actor, error) {
			r, err := f.open(stderr, access.Options{})
			if err != nil {
				return nil, err
			}
			return &r.Actor, nil
		},
	})
	return s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: notClosed{cmd.OutOrStdout()}, MaxLineLength: mcpMaxMessage})
}

// notClosed is a stream that outlives its user.
type notClosed struct{ io.Writer }

func (notClosed) Close() error { return nil }

// searchMCP is `ctxfs search` for the server. What that says beside the hits
// is the note.
func (f *reachFlags) searchMCP(ctx context.Context, q index.Query) ([]index.Hit, string, error) {
	var said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetErr(&said)
	hits, err := (&searchFlags{reachFlags: reachFlags{store: f.store}, q: q}).search(cmd)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil // nothing was written yet
	}
	note := strings.TrimSpace(strings.ReplaceAll(said.String(), "ctxfs: ", ""))
	if note != "" {
		note = "[" + note + "]"
	}
	return hits, note, err
}
