package pgtest

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// Fault is what a Proxy does with what a client has just sent.
type Fault int

const (
	Pass       Fault = iota
	LoseQuery        // the server never gets it, and the connection breaks
	LoseAnswer       // the server does it, and the connection breaks before the answer
	DelayQuery       // the connection breaks, and the server gets it at Release
)

// Proxy is a broken network between a store and a server. Safe for concurrent
// use.
type Proxy struct {
	listener net.Listener
	socket   string
	running  sync.WaitGroup

	mu     sync.Mutex // guards what follows
	judge  func(sent []byte) Fault
	refuse bool
	pipes  map[*pipe]bool
	held   []*heldQuery
}

// heldQuery is what Release hands to the server.
type heldQuery struct {
	*pipe
	sent []byte
}

// NewProxy starts a proxy to the shared server, which ends with the test.
func NewProxy(t testing.TB) *Proxy {
	t.Helper()
	return ProxyTo(t, Shared(t))
}

// ProxyTo starts a proxy to the server of c, which ends with the test.
func ProxyTo(t testing.TB, c *Cluster) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, socket: c.Socket(), pipes: make(map[*pipe]bool)}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.Refuse(true)
		p.Release()
		p.running.Wait()
	})
	return p
}

// Through returns the URL of the same store by way of the proxy.
func (p *Proxy) Through(t testing.TB, store string) string {
	t.Helper()
	u, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", host)
	q.Set("port", port)
	u.RawQuery = q.Encode()
	return u.String()
}

// OnQuery has judge decide what becomes of each piece that a client sends; nil
// lets all pass.
func (p *Proxy) OnQuery(judge func(sent []byte) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

// Cut breaks every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pipes {
		c.close()
	}
}

// Refuse says whether the server is out of reach. It breaks every connection.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	p.refuse = refuse
	p.mu.Unlock()
	p.Cut()
}

// Release sends the server what was delayed, and waits until it was dealt with.
func (p *Proxy) Release() {
	p.mu.Lock()
	held := p.held
	p.held = nil
	p.mu.Unlock()
	for _, h := range held {
		if _, err := h.server.Write(h.sent); err == nil {
			<-h.answered
		}
		h.server.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		p.mu.Lock()
		if err != nil || p.refuse {
			client.Close()
			if err == nil {
				server.Close()
			}
			p.mu.Unlock()
			continue
		}
		c := &pipe{p: p, client: client, server: server, answered: make(chan struct{})}
		p.pipes[c] = true
		p.mu.Unlock()
		p.running.Go(c.toServer)
		p.running.Go(c.toClient)
	}
}

// pipe is one connection.
type pipe struct {
	p              *Proxy
	client, server net.Conn
	answered       chan struct{} // closed after the last answer that is read

	mu   sync.Mutex // guards what follows
	mute bool       // the next answer ends the connection
	keep bool       // the server's side is held
}

// close ends the pipe: whatever is still on its way is lost.
func (c *pipe) close() {
	c.client.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.keep {
		c.server.Close()
	}
}

func (c *pipe) end() {
	c.close()
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	delete(c.p.pipes, c)
}

func (c *pipe) toServer() {
	defer c.end()
	buf := make([]byte, 1<<20)
	for {
		n, err := c.client.Read(buf)
		if err != nil {
			return
		}
		c.p.mu.Lock()
		judge := c.p.judge
		c.p.mu.Unlock()
		fault := Pass
		if judge != nil {
			fault = judge(buf[:n])
		}
		switch fault {
		case LoseQuery:
			return
		case DelayQuery:
			c.hold(buf[:n])
			return
		case LoseAnswer:
			c.mu.Lock()
			c.mute = true
			c.mu.Unlock()
		}
		if _, err := c.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *pipe) hold(sent []byte) {
	c.mu.Lock()
	c.keep = true
	c.mu.Unlock()
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.held = append(c.p.held, &heldQuery{c, append([]byte(nil), sent...)})
}

func (c *pipe) toClient() {
	defer c.end()
	defer close(c.answered)
	buf := make([]byte, 1<<16)
	for {
		n, err := c.server.Read(buf)
		if err != nil {
			return
		}
		c.mu.Lock()
		lost := c.mute || c.keep
		c.mu.Unlock()
		if lost {
			return
		}
		if _, err := c.client.Write(buf[:n]); err != nil {
			return
		}
	}
}
