package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the server of the test binary.
var shared struct {
	mu      sync.Mutex // guards what follows
	options Options
	cluster *Cluster
	err     error
}

// Main runs the tests of a package and ends the server that they started: it
// is TestMain, or the end of it.
func Main(m *testing.M, o Options) {
	shared.options = o
	code := m.Run()
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Shared returns the server of this test binary, which the first call starts.
// Without Main, Stop ends it.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = Start(shared.options)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// Schema makes a new schema in the shared server and returns the URL of a
// store in it.
func Schema(t testing.TB) string {
	t.Helper()
	c := Shared(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	url, err := c.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// Stop ends the shared server, if there is one.
func Stop() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	c := shared.cluster
	shared.cluster = nil
	if c == nil {
		return nil
	}
	return c.Stop()
}
