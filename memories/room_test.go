package memories

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

func (b *bench) mkdir(memory string) {
	b.t.Helper()
	if _, err := b.MakeDir(ctx, alice, memory, 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) openFile(path string, o room.Create) room.File {
	b.t.Helper()
	f, _, err := b.Write(ctx, alice, path, o)
	if err != nil {
		b.t.Fatalf("open %s: %v", path, err)
	}
	b.t.Cleanup(func() { f.Close() })
	return f
}

// draft opens context.md as `> context.md` does.
func (b *bench) draft(path string) room.Draft {
	b.t.Helper()
	d, ok := b.openFile(path, room.Create{New: true, Mode: 0o644, Flags: syscall.O_WRONLY | syscall.O_TRUNC}).(room.Draft)
	if !ok {
		b.t.Fatalf("%s is no draft", path)
	}
	if err := d.Truncate(0); err != nil {
		b.t.Fatal(err)
	}
	return d
}

// save is what `printf text > path` does with a draft.
func (b *bench) save(path, text string) error {
	b.t.Helper()
	d := b.draft(path)
	_, err := d.WriteAt([]byte(text), 0)
	if err == nil {
		err = d.Commit(ctx)
	}
	if err != nil {
		d.Refuse(ctx, err)
	}
	return errors.Join(err, d.Close())
}

// read is what cat(1) prints, after a look at the size as the kernel has it.
func (b *bench) read(path string) string {
	b.t.Helper()
	info, err := b.Stat(ctx, path)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := b.Read(ctx, path, info.Revision)
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	if err != nil || int64(len(text)) != info.Size {
		b.t.Fatalf("%s has %d bytes and %q, %v", path, info.Size, text, err)
	}
	return string(text)
}

func (b *bench) names(dir string) string {
	b.t.Helper()
	var all []string
	for after := ""; ; {
		page, err := b.List(ctx, dir, after, 2)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, i := range page {
			all = append(all, i.Name)
			after = i.Name
			if stat, err := b.Stat(ctx, strings.TrimPrefix(dir+"/"+i.Name, "/")); err != nil || stat != i {
				b.t.Fatalf("listed as %+v, stat says %+v, %v", i, stat, err)
			}
		}
		if len(page) < 2 {
			return strings.Join(all, " ")
		}
	}
}

func TestContextNeedsItsDirectory(t *testing.T) {
	b := newBench(t, quick())
	_, _, err := b.Write(ctx, alice, "m1/context.md", room.Create{New: true, Mode: 0o644})
	if !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if _, err := b.Stat(ctx, ""); err != nil {
		t.Fatalf("the room itself: %v", err)
	}
	if got := b.names(""); got != "" {
		t.Fatalf("listed %q", got)
	}
}

func TestDirectoriesAreMemories(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	b.mkdir("M.2:x_y-z")
	if got := b.names(""); got != "M.2:x_y-z m1" {
		t.Fatalf("listed %q", got)
	}
	if _, err := b.MakeDir(ctx, alice, "m1", 0o755); !errors.Is(err, backing.ErrExists) {
		t.Fatalf("got %v", err)
	}
	_, err := b.MakeDir(ctx, alice, "-m", 0o755)
	wantRefusal(t, err, syscall.EINVAL)
	_, err = b.MakeDir(ctx, alice, "m1/sub", 0o755)
	wantRefusal(t, err, syscall.EPERM)
	_, _, err = b.Write(ctx, alice, "file", room.Create{New: true})
	wantRefusal(t, err, syscall.EPERM)
	wantRefusal(t, b.Rename(ctx, alice, "m1", "m2", 0), syscall.EPERM)
	if n := strings.Count(string(b.journal.Last()), "\n"); n != 4 {
		t.Fatalf("%d refusals in the journal", n)
	}
}

func TestRmdirRemovesAMemoryWithoutContent(t *testing.T) {
	b := newBench(t, quick())
	if err := b.putAndRemove("m1", "text"); !errors.Is(err, backing.ErrNotEmpty) {
		t.Fatalf("got %v", err)
	}
	if err := b.Remove(ctx, alice, "m1/context.md"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.GetContext(ctx, "m1"); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	b.wantFile("memories/m1/context.json", `{"activeContext":""}`)
	if err := b.RemoveDir(ctx, alice, "m1"); err != nil {
		t.Fatal(err)
	}
	b.wantNoFile("memories/m1")
	b.put("m1", "again")
	b.await("m1")
	b.wantFile("memories/m1/context.md", "again")
}

// putAndRemove puts a context and removes its memory.
func (b *bench) putAndRemove(memory, text string) error {
	b.put(memory, text)
	return b.RemoveDir(ctx, alice, memory)
}

func TestSnapshotCannotBeWritten(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "text")
	b.await("m1")
	_, _, err := b.Write(ctx, alice, "m1/context.json", room.Create{Flags: syscall.O_WRONLY})
	wantRefusal(t, err, syscall.EACCES)
	wantRefusal(t, b.Remove(ctx, alice, "m1/context.json"), syscall.EACCES)
	b.scratch("m1/x", "{}")
	wantRefusal(t, b.Rename(ctx, alice, "m1/x", "m1/context.json", 0), syscall.EACCES)
	_, err = b.SetAttr(ctx, alice, "m1/context.json", backing.AttrChange{})
	wantRefusal(t, err, syscall.EACCES)
	if info, err := b.Stat(ctx, "m1/context.json"); err != nil || info.Mode != 0o444 {
		t.Fatalf("%+v, %v", info, err)
	}
}

func TestWatchTellsOfPutsEntriesAndForeignEdits(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	b.names("m1")
	c, cancel := context.WithCancel(ctx)
	told, ended := make(chan string, 1000), make(chan error, 1)
	go func() { ended <- b.Watch(c, func(path string, deep bool) { told <- path }) }()
	// The watch begins a little later: what it is to tell happens again and
	// again until it does.
	until := func(path string, happen func()) {
		t.Helper()
		deadline := time.Now().Add(20 * time.Second)
		for got := ""; got != path; {
			happen()
			select {
			case got = <-told:
			case <-time.After(10 * time.Millisecond):
			}
			if strings.HasSuffix(got, ".tmp") || time.Now().After(deadline) {
				t.Fatalf("told of %q while waiting for %s", got, path)
			}
		}
	}
	until("m1/context.md", func() { b.put("m1", "text") })
	until("m1/entries.jsonl", func() { b.add("m1", "{}") })
	until("m1/notes", func() {
		if err := os.WriteFile(filepath.Join(b.dir, "memories/m1/notes"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	cancel()
	if err := within(t, ended, "the end of Watch"); err != nil {
		t.Fatal(err)
	}
}

func TestReadOnlyStoreReadsAndRefuses(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "text")
	b.add("m1", "{}")
	b.close()
	ro := readOnly(t, b.dir)
	ro.wantContext("m1", "text")
	if got := ro.names("m1"); got != "context.json context.md entries.jsonl" {
		t.Fatalf("listed %q", got)
	}
	if err := ro.PutContext(ctx, "m1", "x"); !errors.Is(err, backing.ErrReadOnly) {
		t.Fatalf("put: %v", err)
	}
	if _, err := ro.AddEntry(ctx, "m1", []byte("{}")); !errors.Is(err, backing.ErrReadOnly) {
		t.Fatalf("add: %v", err)
	}
	if _, _, err := ro.Write(ctx, alice, "m1/context.md", room.Create{}); !errors.Is(err, backing.ErrReadOnly) {
		t.Fatalf("open: %v", err)
	}
	if !slices.Equal(ro.Status().Queues, []int{0, 0, 0, 0}) {
		t.Fatalf("%+v", ro.Status())
	}
}
