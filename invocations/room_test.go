package invocations

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

const appendFlags = syscall.O_WRONLY | syscall.O_APPEND

func TestInvalidLineIsRefusedAtTheWriteAndChangesNothing(t *testing.T) {
	b := newBench(t)
	b.ok(b.echo(call(1) + "}\n"))
	f := b.open(appendFlags)
	for text, want := range map[string]string{
		"oops\n":                                 "one JSON object",
		`{"tool_name":"x","params":1}` + "\n":    "result: it is missing",
		call(2) + "}\n" + call(3) + "\n":         ":2: it is no JSON",
		call(2) + `,"success":1}` + "\n":         "success: 1 is neither true nor false",
		strings.Repeat("x", MaxLine+1):           "a line has at most",
		"{" + strings.Repeat(" ", 20) + "}x\n{}": "it is no JSON",
	} {
		n, err := f.WriteAt([]byte(text), 0)
		errno := syscall.EINVAL
		if len(text) > MaxLine {
			errno = syscall.EFBIG
		}
		b.refused(err, errno, want)
		if n != 0 {
			t.Errorf("%d bytes were taken of %.40q", n, text)
		}
		b.holds(call(1), filled)
	}
	_, err := f.WriteAt([]byte(call(4)+"}\n"), 0)
	b.ok(err)
	b.ok(f.Close())
	b.holds(call(1), filled, call(4), filled)
	if rej := b.stored(rejName); !strings.Contains(rej, "\n\noops\n\n") || !strings.Contains(rej, "# wrong: result: it is missing") {
		t.Errorf("what was refused is not kept: %.500s", rej)
	}
}

func TestHistoryIsOnlyAppendedTo(t *testing.T) {
	b := newBench(t)
	b.ok(b.echo(call(1) + "}\n"))
	size := int64(len(b.stored(fileName)))
	f := b.open(syscall.O_RDWR)
	for _, off := range []int64{0, size - 1, size + 1} {
		_, err := f.WriteAt([]byte(call(2)+"}\n"), off)
		b.refused(err, syscall.EPERM, "only at its end")
	}
	b.refused(f.Truncate(0), syscall.EPERM, "never shortened")
	b.refused(f.Truncate(size+10), syscall.EPERM, "never shortened")
	b.ok(f.Close())
	for _, flags := range []int{syscall.O_WRONLY | syscall.O_TRUNC, syscall.O_RDONLY | syscall.O_TRUNC} {
		_, _, err := b.room.Write(ctx, alice, fileName, room.Create{New: true, Flags: flags})
		b.refused(err, syscall.EPERM, "never emptied")
	}
	b.refused(b.room.Remove(ctx, alice, fileName), syscall.EPERM, "never removed")
	b.refused(b.room.Rename(ctx, alice, fileName, "x", 0), syscall.EPERM, "not renamed")
	for _, name := range []string{"other.jsonl", ".context.jsonl.swp"} {
		_, _, err := b.room.Write(ctx, alice, name, room.Create{New: true})
		b.refused(err, syscall.EPERM, "no other file")
	}
	_, err := b.room.MakeDir(ctx, alice, "d", 0o755)
	b.refused(err, syscall.EPERM, "no other file")
	if _, _, err := b.room.Write(ctx, alice, fileName, room.Create{New: true, Exclusive: true}); !errors.Is(err, backing.ErrExists) {
		t.Error(err)
	}
	b.holds(call(1), filled)
}

// What the kernel knows of the size may be old, and lines grow when they are
// completed.
func TestWritersGoOnWhereTheyWere(t *testing.T) {
	b := newBench(t)
	plain, appender := b.open(syscall.O_WRONLY), b.open(appendFlags)
	off := int64(0)
	write := func(text string) {
		t.Helper()
		n, err := plain.WriteAt([]byte(text), off)
		b.ok(err)
		off += int64(n)
	}
	write(call(1) + "}\n")
	write(call(2))
	write("}\n")
	if _, err := appender.WriteAt([]byte(call(3)+"}\n"), 5); err != nil {
		t.Errorf("an appender with an old size: %v", err)
	}
	_, err := plain.WriteAt([]byte(call(4)+"}\n"), off)
	b.refused(err, syscall.EPERM, "only at its end")
	off = int64(len(b.stored(fileName)))
	write(call(5) + "}\n")
	if _, err := plain.Append([]byte(call(6) + "}\n")); err != nil {
		t.Error(err)
	}
	b.ok(errors.Join(plain.Close(), appender.Close()))
	b.holds(call(1), filled, call(2), filled, call(3), filled, call(5), filled, call(6), filled)
}

func TestLineWaitsForItsEnd(t *testing.T) {
	b := newBench(t)
	f := b.open(appendFlags)
	put := func(text string) {
		t.Helper()
		_, err := f.WriteAt([]byte(text), 0)
		b.ok(err)
	}
	for _, c := range call(1) {
		put(string(c))
	}
	b.ok(errors.Join(f.Flush(), f.Sync()))
	b.holds()
	put("}\n" + call(2))
	b.holds(call(1), filled)
	put("}")
	b.holds(call(1), filled)
	b.ok(f.Sync())
	b.holds(call(1), filled, call(2), filled)
	put("\n\r\n" + call(3) + "}")
	b.ok(f.Close())
	b.holds(call(1), filled, call(2), filled, call(3), filled)
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
}

func TestLineThatIsCutOffAtTheCloseIsRefusedAndKept(t *testing.T) {
	b := newBench(t)
	b.refused(b.echo(call(1)), syscall.EINVAL, "it is no JSON")
	b.holds()
	if rej := b.stored(rejName); !strings.HasSuffix(rej, "\n\n"+call(1)+"\n\n") {
		t.Errorf("kept %q", rej)
	}
	infos, err := b.room.List(ctx, "", "", 10)
	if err != nil || len(infos) != 2 || infos[1].Name != rejName || infos[1].Kind != room.Object {
		t.Errorf("listed %+v, %v", infos, err)
	}
	c, err := b.room.Read(ctx, rejName, infos[1].Revision)
	b.ok(err)
	b.ok(c.Close())
	b.ok(b.room.Remove(ctx, alice, rejName))
	if _, err := b.room.Stat(ctx, rejName); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("after its removal: %v", err)
	}
}

func TestRefusedLinesDoNotPileUp(t *testing.T) {
	b := newBench(t)
	f := b.open(appendFlags)
	for range 3 {
		_, err := f.WriteAt([]byte("again\n"), 0)
		b.refused(err, syscall.EINVAL, "JSON")
	}
	if n := strings.Count(b.stored(rejName), "again"); n != 1 {
		t.Errorf("kept %d times", n)
	}
	for n := range 5 {
		_, err := f.WriteAt([]byte(strings.Repeat("x", MaxReject/3+n)+"\n"), 0)
		b.refused(err, syscall.EINVAL, "JSON")
	}
	if n := len(b.stored(rejName)); n > MaxReject+4096 {
		t.Errorf("%d bytes of refused lines", n)
	}
	b.ok(f.Close())
}

func TestReadersSeeTheHistoryGrow(t *testing.T) {
	b := newBench(t)
	f := b.open(syscall.O_RDONLY)
	buf := make([]byte, 4096)
	off := int64(0)
	for n := range 3 {
		_, err := b.Append(ctx, Entry{ToolName: "t"})
		b.ok(err)
		got, err := f.ReadAt(buf, off)
		if !errors.Is(err, io.EOF) || buf[got-1] != '\n' {
			t.Fatalf("line %d: %q, %v", n, buf[:got], err)
		}
		off += int64(got)
		if m, err := f.Stat(); err != nil || m.Size != off {
			t.Errorf("size %d, want %d, %v", m.Size, off, err)
		}
	}
	if _, err := f.WriteAt([]byte("{}\n"), off); !errors.Is(err, syscall.EBADF) {
		t.Errorf("write to a handle for reading: %v", err)
	}
	if f.Fd() == 0 || f.Fd() == backing.NoDescriptor {
		t.Errorf("descriptor %d", f.Fd())
	}
	b.ok(f.Close())
}

func TestWatchTellsOfAppends(t *testing.T) {
	b := newBench(t)
	watching, stop := context.WithCancel(ctx)
	told := make(chan string, 100)
	done := make(chan error)
	go func() { done <- b.room.Watch(watching, func(path string, deep bool) { told <- path }) }()
	deadline := time.After(10 * time.Second)
	retry := time.NewTicker(20 * time.Millisecond) // the watch may not have begun
	defer retry.Stop()
	for seen := false; !seen; {
		select {
		case path := <-told:
			seen = path == fileName
		case <-retry.C:
			b.ok(b.echo(call(1) + "}\n"))
		case <-deadline:
			t.Fatal("nobody told of the append")
		}
	}
	stop()
	for {
		select {
		case <-told:
		case err := <-done:
			b.ok(err)
			return
		}
	}
}
