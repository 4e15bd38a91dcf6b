package memories

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

func TestPutIsReadableAtOnceAndOnDiskAfterAwait(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "old")
	b.await("m1")
	g := b.gate("rename", "memories/m1/context.md")
	b.put("m1", "new")
	within(t, g.reached, "the worker")
	b.wantContext("m1", "new")
	b.wantFile("memories/m1/context.md", "old")
	b.put("m1", "newer")
	b.wantContext("m1", "newer")
	g.pass()
	within(t, g.reached, "the worker, the second time")
	b.wantFile("memories/m1/context.md", "new")
	b.wantContext("m1", "newer")
	g.release()
	b.await("m1")
	b.wantContext("m1", "newer")
	b.wantFile("memories/m1/context.md", "newer")
	b.wantFile("memories/m1/context.json", `{"activeContext":"newer"}`)
}

func TestWriteAlgorithmIsThatOfTheReference(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "text")
	b.await("m1")
	var doc []string
	for _, call := range b.disk.calls {
		if strings.Contains(call, "context.md") {
			doc = append(doc, call)
		}
	}
	// localdir's Rename syncs the directory before it returns.
	want := []string{"open memories/m1/context.md.tmp", "write memories/m1/context.md.tmp",
		"fsync memories/m1/context.md.tmp", "rename memories/m1/context.md"}
	if !slices.Equal(doc, want) {
		t.Fatalf("calls %q, want %q", doc, want)
	}
	b.wantNoFile("memories/m1/context.md.tmp")
	b.wantNoFile("memories/m1/context.json.tmp")
}

func TestPutsOfOneMemoryAreWrittenInTheirOrder(t *testing.T) {
	b := newBench(t, quick())
	for i := range 50 {
		b.put("m1", fmt.Sprint("text ", i))
		b.wantContext("m1", fmt.Sprint("text ", i))
	}
	b.await("m1")
	b.wantFile("memories/m1/context.md", "text 49")
}

func TestConcurrentPutsEndWithTheOneThatIsRead(t *testing.T) {
	b := newBench(t, quick())
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				if err := b.PutContext(ctx, "m1", fmt.Sprint(w, " ", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	newest, err := b.GetContext(ctx, "m1")
	if err != nil {
		t.Fatal(err)
	}
	b.await("m1")
	b.wantFile("memories/m1/context.md", newest)
}

func TestFullQueueRefusesPutWithEAGAINAndKeepsTheAcknowledged(t *testing.T) {
	o := quick()
	o.Queue.Shards, o.Queue.Queue, o.Queue.EnqueueTimeout = 1, 2, 10*time.Millisecond
	b := newBench(t, o)
	g := b.gate("rename", "memories/m1/context.md")
	b.put("m1", "1")
	within(t, g.reached, "the worker")
	b.put("m1", "2")
	b.put("m1", "3")
	err := b.PutContext(ctx, "m1", "4")
	if !errors.Is(err, syscall.EAGAIN) {
		t.Fatalf("got %v, want EAGAIN", err)
	}
	b.wantContext("m1", "3")
	if st := b.Status(); st.Queues[0] != 2 || st.QueueLimit != 2 {
		t.Fatalf("status %+v", st)
	}
	g.release()
	b.await("m1")
	b.wantFile("memories/m1/context.md", "3")
}

func TestPutIsRetriedUntilTheDiskTakesIt(t *testing.T) {
	b := newBench(t, quick())
	left := 3
	b.disk.disturb(func(op string, key backing.Key) error {
		if op == "fsync" && strings.HasSuffix(string(key), "context.md.tmp") && left > 0 {
			left--
			return syscall.ENOSPC
		}
		return nil
	})
	b.put("m1", "text")
	b.await("m1")
	b.wantFile("memories/m1/context.md", "text")
	if left != 0 {
		t.Fatalf("%d failures were not met", left)
	}
}

func TestPutThatTheDiskRefusesIsKeptShownAndTriedAgain(t *testing.T) {
	o := quick()
	o.Queue.Attempts = 2
	b := newBench(t, o)
	b.put("m1", "old")
	b.await("m1")
	b.disk.disturb(func(op string, key backing.Key) error {
		if op == "write" {
			return syscall.ENOSPC
		}
		return nil
	})
	b.put("m1", "new")
	if err := b.AwaitConsistency(ctx, "m1"); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("await: %v, want ENOSPC", err)
	}
	b.wantContext("m1", "new")
	if st := b.Status(); len(st.Unwritten) != 1 || st.Unwritten[0].Memory != "m1" {
		t.Fatalf("status %+v", st)
	}
	if _, err := b.AddEntry(ctx, "m1", []byte(`{}`)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("an entry was added without the context before it: %v", err)
	}
	b.disk.disturb(nil)
	b.await("m1")
	b.wantFile("memories/m1/context.md", "new")
	if st := b.Status(); len(st.Unwritten) != 0 {
		t.Fatalf("status %+v", st)
	}
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	b := newBench(t, quick())
	for i := range 20 {
		b.put(fmt.Sprint("m", i), "text")
	}
	b.close()
	for i := range 20 {
		b.wantFile(fmt.Sprintf("memories/m%d/context.md", i), "text")
	}
}

func TestContextOfAMemoryThatHasNoneIsNotFound(t *testing.T) {
	b := newBench(t, quick())
	if _, err := b.GetContext(ctx, "m1"); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	b.await("m1")
}

func TestMemoryNamesAreChecked(t *testing.T) {
	b := newBench(t, quick())
	for _, name := range []string{"", ".", "..", "a/b", "-a", ".hidden", "a b", "ä", "a\x00", strings.Repeat("a", 129)} {
		wantRefusal(t, b.PutContext(ctx, name, "x"), syscall.EINVAL)
		wantRefusal(t, b.AwaitConsistency(ctx, name), syscall.EINVAL)
		_, err := b.GetContext(ctx, name)
		wantRefusal(t, err, syscall.EINVAL)
		_, err = b.AddEntry(ctx, name, []byte("{}"))
		wantRefusal(t, err, syscall.EINVAL)
	}
	for _, name := range []string{"a", "9", "a.b_c:d-e", strings.Repeat("a", 128)} {
		b.put(name, "x")
	}
}

func TestContextBeyondTheLimitsIsRefused(t *testing.T) {
	o := quick()
	o.MaxChars = BackendMaxChars
	b := newBench(t, o)
	b.put("m1", strings.Repeat("ä", BackendMaxChars))
	wantRefusal(t, b.PutContext(ctx, "m1", strings.Repeat("ä", BackendMaxChars+1)), syscall.EFBIG)
	unlimited := newBench(t, quick())
	unlimited.put("m1", strings.Repeat("a", MaxContext))
	wantRefusal(t, unlimited.PutContext(ctx, "m1", strings.Repeat("a", MaxContext+1)), syscall.EFBIG)
}

func TestContextDirectoryHoldsTheMemoriesInsteadOfTheStore(t *testing.T) {
	o := quick()
	dir := filepath.Join(t.TempDir(), "contexts")
	o.Own = func() (backing.Store, error) { return localdir.Open(dir, localdir.Options{}) }
	b := newBench(t, o)
	b.put("m1", "text")
	b.add("m1", `{"text":"x"}`)
	b.await("m1")
	text, err := os.ReadFile(filepath.Join(dir, "m1", "context.md"))
	if err != nil || string(text) != "text" {
		t.Fatalf("%q, %v", text, err)
	}
	b.wantNoFile("memories")
	if info, err := b.Stat(ctx, "m1/context.md"); err != nil || info.Size != 4 {
		t.Fatalf("%+v, %v", info, err)
	}
	if all, err := b.ListMemories(ctx); err != nil || len(all) != 1 || all[0].Memory != "m1" || all[0].EntryBytes == 0 {
		t.Fatalf("%+v, %v", all, err)
	}
}

func TestListShowsQueuedContexts(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "text!")
	b.await("m1")
	g := b.gate("rename", "memories/m2/context.md")
	b.put("m2", "four")
	within(t, g.reached, "the worker")
	all, err := b.ListMemories(ctx)
	if err != nil || len(all) != 2 || all[0].SizeBytes != 5 || all[1].SizeBytes != 4 || !all[1].HasContext {
		t.Fatalf("%+v, %v", all, err)
	}
	g.release()
}

// A crash between the two renames leaves the prepared snapshot.
func TestStartFinishesAPutThatACrashCutInTwo(t *testing.T) {
	for _, c := range []struct{ name, doc, shot, prepared, want string }{
		{"between the renames", "new", "old", `{"activeContext":"new"}`, "new"},
		{"before the first", "old", "old", `{"activeContext":"new"}`, "old"},
		{"while preparing", "old", "old", `{"activeCon`, "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			m := filepath.Join(dir, "memories", "m1")
			err := errors.Join(os.MkdirAll(m, 0o755), os.WriteFile(filepath.Join(m, "context.md"), []byte(c.doc), 0o644),
				os.WriteFile(filepath.Join(m, "context.json"), snapshotOf(c.shot), 0o644),
				os.WriteFile(filepath.Join(m, "context.json.tmp"), []byte(c.prepared), 0o644),
				os.WriteFile(filepath.Join(m, "context.md.tmp"), []byte("ne"), 0o644))
			if err != nil {
				t.Fatal(err)
			}
			b := benchIn(t, dir, quick())
			b.wantContext("m1", c.doc)
			b.wantFile("memories/m1/context.json", string(snapshotOf(c.want)))
			b.wantNoFile("memories/m1/context.json.tmp")
			b.wantNoFile("memories/m1/context.md.tmp")
		})
	}
}

func TestPutComesBackAfterAnotherProgramRemovedTheMemory(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "one")
	b.await("m1")
	if err := os.RemoveAll(filepath.Join(b.dir, "memories", "m1")); err != nil {
		t.Fatal(err)
	}
	b.put("m1", "two")
	b.await("m1")
	b.wantFile("memories/m1/context.md", "two")
}
