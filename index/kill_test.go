package index

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/entries"
)

// gated is a source whose entries cannot be read while its gate is closed.
type gated struct {
	*entries.Entries
	reads  atomic.Int64
	free   int64 // reads that go through a closed gate
	closed func()
	gate   chan struct{}
}

func (g *gated) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	if g.reads.Add(1) > g.free {
		g.closed()
		<-g.gate
	}
	return g.Entries.Read(ctx, path, rev)
}

func TestBlockedIndexHoldsUpNoWrite(t *testing.T) {
	b := newBench(t)
	b.ok(b.Index.Close())
	blocked := make(chan struct{}, 1)
	src := &gated{Entries: b.room, gate: make(chan struct{}), closed: func() {
		select {
		case blocked <- struct{}{}:
		default:
		}
	}}
	b.Index = Open(b.file(), src, Options{Log: slog.New(slog.DiscardHandler)})
	b.save(at(1, "x"), "tags: []\n", "first")
	<-blocked // the index holds its lock and its transaction
	for i := range 10 {
		b.save(at(2+i, "y"), "tags: []\n", fmt.Sprintf("later%d", i))
	}
	close(src.gate)
	b.wants(Query{Words: "later9"}, at(11, "y"))
}

const killEnv = "CTXFS_TEST_INDEX_KILLED_IN"

// TestMain is an index that stops in the middle of being built, where it is
// asked for.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killEnv); dir != "" {
		if err := buildUntilKilled(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func buildUntilKilled(dir string) error {
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		return err
	}
	e, err := entries.New(store, entries.Options{Log: log})
	if err != nil {
		return err
	}
	src := &gated{Entries: e, free: 60, gate: make(chan struct{}), closed: func() { fmt.Println("halfway") }}
	Open(dir+"/.ctxfs/index.sqlite", src, Options{Log: log})
	select {} // until it is killed
}

func TestKilledWhileItIsBuiltItIsFinished(t *testing.T) {
	dir := t.TempDir()
	if err := makeMany(dir, 200, "text"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // each leaves more than the next one may read
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), killEnv+"="+dir)
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if killed := child.Process.Kill(); err != nil || line != "halfway\n" || killed != nil {
			t.Fatalf("%q, %v, %v", line, err, killed)
		}
		if err := child.Wait(); err == nil {
			t.Fatal("it ended by itself")
		}
	}
	b := openBench(t, dir)
	b.until("all are in", func() bool { s := b.Status(ctx); return !s.Building && s.Entries == 200 })
	if got := b.find(Query{Words: "text", Limit: -1}); len(got) != 200 {
		t.Errorf("%d of 200 are found", len(got))
	}
	b.wants(Query{Words: "n00199"}, manyPath(199))
}
