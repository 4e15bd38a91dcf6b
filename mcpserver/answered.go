package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answered is a transport that tells of the end of the input only after every
// request before it was answered: the SDK gives up requests that run then, and
// a client may well send its last ones and close.
type answered struct{ mcp.Transport }

// Connect implements [mcp.Transport].
func (t answered) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeredConn{Connection: c, changed: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

type answeredConn struct {
	mcp.Connection
	changed chan struct{} // has an element after open became less
	closed  chan struct{}
	once    sync.Once // closes closed

	mu   sync.Mutex
	open int // requests without an answer
}

// Read implements [mcp.Connection].
func (c *answeredConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.wait(ctx)
	}
	// Who listens to notifications is never answered.
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != "subscriptions/listen" {
		c.add(1)
	}
	return m, err
}

func (c *answeredConn) wait(ctx context.Context) {
	for c.add(0) > 0 {
		select {
		case <-c.changed:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *answeredConn) add(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	return c.open
}

// Write implements [mcp.Connection].
func (c *answeredConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.add(-1)
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	return err
}

// Close implements [mcp.Connection].
func (c *answeredConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
