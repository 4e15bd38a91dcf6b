package housekeeping

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"ctxfs/codec"
)

// pipe is a control file: what is written to it is served, and read from it.
type pipe struct {
	k    *Keeper
	said bytes.Buffer
}

func (p *pipe) Write(request []byte) (int, error) {
	_ = p.k.Serve(context.Background(), request, &p.said, nil) // told in the answer too
	return len(request), nil
}

func (p *pipe) Read(b []byte) (int, error) { return p.said.Read(b) }

func TestADaemonIsAskedAsTheKeeperItself(t *testing.T) {
	b := newBench(t)
	three(b)
	var done *Done
	ask := func(r Request) error {
		return Ask(&pipe{k: b.Keeper}, r, func(e Event) error { done = e.Done; return nil })
	}
	b.ok(ask(clean))
	if done == nil || done.Entries != 2 {
		t.Fatalf("%+v", done)
	}
	err := ask(Request{Restore: &Restore{Archive: "none", Path: old}})
	if refusal := (*codec.Refusal)(nil); !errors.As(err, &refusal) || refusal.Errno != syscall.ENOENT || refusal.Fix == "" {
		t.Errorf("%v", err)
	}
	b.store.onPut = func(text []byte) []byte { return nil }
	b.put(old, entry(""), 40)
	if err := ask(clean); err == nil || !strings.Contains(err.Error(), "nothing was removed") {
		t.Errorf("%v", err)
	}
	var said bytes.Buffer
	if err := b.Serve(t.Context(), []byte("clean up"), &said, nil); err == nil || !strings.Contains(said.String(), "not understood") {
		t.Errorf("%v, told %s", err, &said)
	}
	if err := Ask(&struct {
		io.Reader
		io.Writer
	}{strings.NewReader(`{"progress":{}}`), io.Discard}, clean, func(Event) error { return nil }); err == nil || !strings.Contains(err.Error(), "ended before") {
		t.Errorf("a daemon that ends: %v", err)
	}
}
