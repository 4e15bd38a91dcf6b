package memories

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ctxfs/backing"
	"ctxfs/room"
)

const appending = syscall.O_WRONLY | syscall.O_APPEND

func (b *bench) entries(flags int) backing.File {
	b.t.Helper()
	f, ok := b.openFile("m1/entries.jsonl", room.Create{New: true, Mode: 0o644, Flags: flags}).(backing.File)
	if !ok {
		b.t.Fatal("entries.jsonl is no file in place")
	}
	return f
}

func TestAppendedLineIsAnEntry(t *testing.T) {
	b := newBench(t, quick())
	b.put("m1", "The plan.")
	f := b.entries(appending)
	line := []byte("{\"text\":\"x\"}\n")
	for range 3 {
		if n, err := f.WriteAt(line, 0); n != len(line) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	got := b.lines("m1")
	if len(got) != 3 || got[0].Text != "x" || got[0].Context.Active != "The plan." || got[0].ID == got[1].ID {
		t.Fatalf("%+v", got)
	}
	info, err := b.Stat(ctx, "m1/entries.jsonl")
	m, ferr := f.Stat()
	if err != nil || ferr != nil || info.Kind != room.Plain || info.Size != int64(len(b.file("memories/m1/entries.jsonl"))) || m.Size != info.Size {
		t.Fatalf("%+v, %v; %+v, %v", info, err, m, ferr)
	}
}

func TestBadLineIsRefusedAtWriteAndTheFileUnchanged(t *testing.T) {
	b := newBench(t, quick())
	b.add("m1", `{"text":"x"}`)
	was := b.file("memories/m1/entries.jsonl")
	f := b.entries(appending)
	for i, bad := range []string{"text\n", "{\"a\":1}\n{\"b\":\n", "\n", "[", "{\"a\":1}{}\n", `{"context":1}`, strings.Repeat(" ", MaxEntry+1)} {
		_, err := f.WriteAt([]byte(bad), int64(len(was)))
		r := wantRefusal(t, err, syscall.EINVAL)
		if want := map[int]int{1: 2}[i]; r.Path != "memories/m1/entries.jsonl" || r.Line != max(want, 1) {
			t.Fatalf("%q is refused at %s:%d", bad, r.Path, r.Line)
		}
		b.wantFile("memories/m1/entries.jsonl", was)
	}
	if n := strings.Count(string(b.journal.Last()), "\n"); n != 7 {
		t.Fatalf("%d refusals in the journal", n)
	}
	if _, err := f.WriteAt([]byte("{}\n"), int64(len(was))); err != nil {
		t.Fatalf("after the refusals: %v", err)
	}
}

func TestEntriesAreOnlyAppended(t *testing.T) {
	b := newBench(t, quick())
	b.add("m1", `{"text":"x"}`)
	was := b.file("memories/m1/entries.jsonl")
	_, _, err := b.Write(ctx, alice, "m1/entries.jsonl", room.Create{New: true, Flags: syscall.O_WRONLY | syscall.O_TRUNC})
	wantRefusal(t, err, syscall.EPERM)
	f := b.entries(syscall.O_RDWR)
	for _, off := range []int64{0, 1, int64(len(was)) - 1, int64(len(was)) + 1} {
		_, err := f.WriteAt([]byte("{}\n"), off)
		wantRefusal(t, err, syscall.EPERM)
	}
	wantRefusal(t, f.Truncate(0), syscall.EPERM)
	wantRefusal(t, f.Truncate(int64(len(was))+1), syscall.EPERM)
	if err := f.Truncate(int64(len(was))); err != nil {
		t.Fatal(err)
	}
	b.scratch("m1/x", "{}\n")
	wantRefusal(t, b.Rename(ctx, alice, "m1/x", "m1/entries.jsonl", 0), syscall.EPERM)
	wantRefusal(t, b.Rename(ctx, alice, "m1/entries.jsonl", "m1/y", 0), syscall.EPERM)
	wantRefusal(t, b.Remove(ctx, alice, "m1/entries.jsonl"), syscall.EPERM)
	b.wantFile("memories/m1/entries.jsonl", was)
	reader := b.entries(syscall.O_RDONLY)
	if _, err := reader.WriteAt([]byte("{}\n"), int64(len(was))); !errors.Is(err, syscall.EBADF) {
		t.Fatalf("got %v", err)
	}
}

// A handle without O_APPEND goes on where its own writes ended, though what
// is stored is longer.
func TestSequentialWritesGoOnWithoutAppend(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	f := b.entries(syscall.O_WRONLY)
	line, off := []byte("{\"text\":\"x\"}\n"), int64(0)
	for range 3 {
		n, err := f.WriteAt(line, off)
		if err != nil {
			t.Fatal(err)
		}
		off += int64(n)
	}
	if got := b.lines("m1"); len(got) != 3 {
		t.Fatalf("%+v", got)
	}
}

func TestLineMayComeInPieces(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	f := b.entries(appending)
	text := "{\"text\":\"one\"}\n{\"text\":\"two\"}\n"
	for _, c := range text {
		if _, err := f.WriteAt([]byte(string(c)), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.lines("m1"); len(got) != 2 || got[1].Text != "two" {
		t.Fatalf("%+v", got)
	}
}

func TestLastLineNeedsNoEnd(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	f := b.entries(appending)
	if _, err := f.WriteAt([]byte(`{"text":"x"}`), 0); err != nil {
		t.Fatal(err)
	}
	if got := b.lines("m1"); len(got) != 1 || got[0].Text != "x" {
		t.Fatalf("%+v", got)
	}
	for _, next := range []string{" ", "\n", "{\"text\":\"y\"}\n", `{"text":"z"}`, `{"text":`} {
		if _, err := f.WriteAt([]byte(next), 0); err != nil {
			t.Fatalf("%q: %v", next, err)
		}
	}
	if got := b.lines("m1"); len(got) != 3 || got[1].Text != "y" || got[2].Text != "z" {
		t.Fatalf("%+v", got)
	}
	wantRefusal(t, f.Close(), syscall.EINVAL)
	if !strings.Contains(string(b.journal.Last()), "not JSON") {
		t.Fatalf("journal %s", b.journal.Last())
	}
	if got := b.lines("m1"); len(got) != 3 {
		t.Fatalf("%+v", got)
	}
}

func TestConcurrentAppendersNeverShareALine(t *testing.T) {
	b := newBench(t, quick())
	b.mkdir("m1")
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		f := b.entries(appending)
		wg.Go(func() {
			for i := range each {
				if _, err := f.WriteAt(fmt.Appendf(nil, "{\"n\":%d}\n", w*1000+i), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	next := map[int]int{}
	for _, l := range b.lines("m1") {
		w := l.N / 1000
		if l.N%1000 != next[w] {
			t.Fatalf("writer %d: line %d after %d", w, l.N%1000, next[w])
		}
		next[w]++
	}
	for w := range writers {
		if next[w] != each {
			t.Fatalf("writer %d: %d lines", w, next[w])
		}
	}
}

func TestReaderFollowsTheEntries(t *testing.T) {
	b := newBench(t, quick())
	b.add("m1", `{"text":"one"}`)
	f := b.entries(syscall.O_RDONLY)
	was := len(b.file("memories/m1/entries.jsonl"))
	b.add("m1", `{"text":"two"}`)
	m, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, m.Size-int64(was))
	if _, err := f.ReadAt(rest, int64(was)); err != nil && !errors.Is(err, io.EOF) || !strings.HasPrefix(string(rest), `{"text":"two"`) {
		t.Fatalf("%q, %v", rest, err)
	}
}

func TestManyLinesInOneWrite(t *testing.T) {
	srv := newBackend(t)
	b := newBench(t, srv.options())
	b.mkdir("m1")
	f := b.entries(appending)
	var all strings.Builder
	for i := range 150 {
		fmt.Fprintf(&all, "{\"n\":%d}\n", i)
	}
	if _, err := f.WriteAt([]byte(all.String()), 0); err != nil {
		t.Fatal(err)
	}
	b.delivered("m1")
	_, taken := srv.got()
	if len(taken) != 150 {
		t.Fatalf("%d taken", len(taken))
	}
	for i, d := range taken {
		if d.Entry.N != i {
			t.Fatalf("entry %d came at place %d", d.Entry.N, i)
		}
	}
}
