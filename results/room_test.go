package results

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

const (
	one = "s1-grep-a1.json"
	two = "s1-grep-a2.json"
)

func TestInvalidResultIsRefusedAndKeptBesideItsName(t *testing.T) {
	b := newBench(t)
	draft := `{"toolName":"grep","args":{},"result":1,"timestamp":"2024-01-15T10:30:00Z","sessionId":"s1"}` + "\n"
	b.refused(b.save(one, draft), syscall.EINVAL, "queryId: it is missing")
	if names := b.names(); !reflect.DeepEqual(names, []string{one + ".rej"}) {
		t.Errorf("names %v", names)
	}
	kept, ok := codec.RejDraft([]byte(b.content(one + ".rej")))
	if !ok || string(kept) != draft {
		t.Errorf("kept %q", kept)
	}
	b.ok(b.save(one, grepOf(1)))
	if names := b.names(); !reflect.DeepEqual(names, []string{one}) {
		t.Errorf("after a valid save: %v", names)
	}
}

func TestRefusedOverwriteLeavesTheOldResult(t *testing.T) {
	b := newBench(t)
	b.ok(b.save(one, grepOf(1)))
	b.refused(b.save(one, "oops\n"), syscall.EINVAL, "one JSON object")
	b.refused(b.save(one, strings.Replace(grepOf(1), `"s1"`, `"s2"`, 1)), syscall.EINVAL, "name it s2-grep-a1.json")
	d := b.draft(one)
	b.refused(func() error { err := d.Commit(ctx); d.Refuse(ctx, err); return err }(), syscall.EINVAL, "ends too early")
	b.ok(d.Close())
	if got := b.content(one); got != grepOf(1) {
		t.Errorf("the old result is %q", got)
	}
}

// Shells hear what write(2) says, not what close(2) does.
func TestWriteRefusesWhatCannotBecomeAResult(t *testing.T) {
	b := newBench(t)
	for content, refused := range map[string]bool{
		"{\n": false, `{"toolName": "grep",` + "\n": false, "\n": false, grepOf(3): false, grepOf(3) + "\n": false,
		"TODO\n": true, "[1]": true, `{"toolName": grep` + "\n": true, "{}\n": true, grepOf(3) + "x\n": true,
	} {
		d := b.draft(one)
		n, err := d.WriteAt([]byte(content), 0)
		if refused != (err != nil) || refused && n != 0 || err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%q: %d, %v", content, n, err)
		}
		if d.Size() != int64(len(content)) {
			t.Errorf("%q: the draft has %d bytes", content, d.Size())
		}
		b.ok(d.Close())
	}
	d := b.draft(two)
	for _, piece := range []string{"{\"toolName\":\"grep\",\n", "\"args\":{},\n", "\"result\":{}\n"} {
		if _, err := d.Append([]byte(piece)); err != nil {
			t.Errorf("%q: %v", piece, err)
		}
	}
	if _, err := d.Append([]byte("}\n")); err == nil {
		t.Error("the end of an invalid result was accepted")
	}
	b.ok(d.Close())
}

func TestWrongNamesAreRefusedWhenTheyAreMade(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"x.json", "a-b.json", "-b-c.json", "a-b-.json", "a b-c-d.json", "a-b-c_d.json", strings.Repeat("x", 240) + "-a-b.json"} {
		_, _, err := b.room.Write(ctx, alice, name, room.Create{New: true, Mode: 0o644})
		b.refused(err, syscall.EINVAL, "does not name a result")
	}
	_, err := b.room.MakeDir(ctx, alice, "sub", 0o755)
	b.refused(err, syscall.EPERM, "no directories")
	_, err = b.room.Symlink(ctx, alice, "x", "y")
	b.refused(err, syscall.EPERM, "symbolic links")
	if _, _, err := b.room.Write(ctx, alice, "sub/x", room.Create{New: true}); !errors.Is(err, backing.ErrNotDir) {
		t.Error(err)
	}
}

func TestRenameOntoAResultIsASave(t *testing.T) {
	b := newBench(t)
	b.ok(b.save(one, grepOf(1)))
	b.plain("sedAbCdEf", grepOf(2))
	b.ok(b.room.Rename(ctx, alice, "sedAbCdEf", one, 0))
	if got := b.content(one); got != grepOf(2) {
		t.Errorf("holds %q", got)
	}
	b.plain("tmp.1", "oops")
	b.refused(b.room.Rename(ctx, alice, "tmp.1", one, 0), syscall.EINVAL, "one JSON object")
	if names := b.names(); !reflect.DeepEqual(names, []string{one, one + ".rej", "tmp.1"}) || b.content(one) != grepOf(2) {
		t.Errorf("names %v", names)
	}
	b.plain("tmp.1", grepOf(100<<10))
	b.ok(b.room.Rename(ctx, alice, "tmp.1", two, unix.RENAME_NOREPLACE))
	b.plain("tmp.1", grepOf(5))
	if err := b.room.Rename(ctx, alice, "tmp.1", two, unix.RENAME_NOREPLACE); !errors.Is(err, backing.ErrExists) {
		t.Errorf("onto one that is there: %v", err)
	}
	b.refused(b.room.Rename(ctx, alice, "tmp.1", two, unix.RENAME_EXCHANGE), syscall.EPERM, "exchanged")
	b.ok(b.room.Rename(ctx, alice, "tmp.1", "tmp.2", 0))
	b.ok(b.room.Rename(ctx, alice, two, one, 0))
	if names := b.names(); !reflect.DeepEqual(names, []string{one, "tmp.2"}) || b.content(one) != grepOf(100<<10) {
		t.Errorf("names %v", names)
	}
}

func TestMendedRejBecomesTheResult(t *testing.T) {
	b := newBench(t)
	b.refused(b.save(one, "oops"), syscall.EINVAL, "JSON object")
	rej := b.content(one + ".rej")
	b.plain(one+".rej", strings.Replace(rej, "oops", grepOf(1), 1))
	b.ok(b.room.Rename(ctx, alice, one+".rej", one, 0))
	if got := b.content(one); got != grepOf(1) || len(b.names()) != 1 {
		t.Errorf("holds %q, names %v", got, b.names())
	}
}

func TestBackupByRenameWorks(t *testing.T) {
	b := newBench(t)
	b.ok(b.save(one, grepOf(1)))
	b.ok(b.room.Rename(ctx, alice, one, one+"~", 0))
	b.ok(b.save(one, grepOf(2)))
	if got := b.content(one + "~"); got != grepOf(1) {
		t.Errorf("the backup is %q", got)
	}
	b.ok(b.room.Remove(ctx, alice, one+"~"))
	if names := b.names(); !reflect.DeepEqual(names, []string{one}) {
		t.Errorf("names %v", names)
	}
}

func TestReadersKeepTheVersionThatTheyOpened(t *testing.T) {
	b := newBench(t)
	for _, size := range []int{1, 100 << 10} {
		b.ok(b.save(one, grepOf(size)))
		info, err := b.room.Stat(ctx, one)
		b.ok(err)
		c, err := b.room.Read(ctx, one, info.Revision)
		b.ok(err)
		b.ok(b.save(one, grepOf(size+1)))
		if got := readAll(t, c); got != grepOf(size) {
			t.Errorf("%d bytes: the reader sees another version", size)
		}
		if _, err := b.room.Read(ctx, one, info.Revision); !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("the replaced version is opened: %v", err)
		}
		b.ok(b.room.Remove(ctx, alice, one))
	}
}

func TestEmptyFileIsPendingUntilItIsRemovedOrWritten(t *testing.T) {
	b := newBench(t)
	b.ok(b.draft(one).Close())
	info, err := b.room.Stat(ctx, one)
	if err != nil || info.Size != 0 || info.Kind != room.Object || info.Mode != 0o640 {
		t.Fatalf("touched: %+v, %v", info, err)
	}
	if got := b.content(one); got != "" || len(b.List("")) != 0 {
		t.Errorf("holds %q, listed %v", got, b.List(""))
	}
	b.ok(b.save(one, grepOf(1)))
	if info, err := b.room.Stat(ctx, one); err != nil || info.Mode != 0o640 {
		t.Errorf("mode %o, %v", info.Mode, err)
	}
	b.ok(b.draft(two).Close())
	b.ok(b.room.Remove(ctx, alice, two))
	if names := b.names(); !reflect.DeepEqual(names, []string{one}) {
		t.Errorf("names %v", names)
	}
}

func TestRemovedWhileItIsWrittenStaysRemoved(t *testing.T) {
	b := newBench(t)
	d := b.draft(one)
	_, err := d.WriteAt([]byte(grepOf(1)), 0)
	b.ok(err)
	b.ok(b.room.Remove(ctx, alice, one))
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	if names := b.names(); len(names) > 0 {
		t.Errorf("names %v", names)
	}
}

func TestDraftBeginsWithTheResultAndAmends(t *testing.T) {
	b := newBench(t)
	b.ok(b.save(one, grepOf(1)))
	f, _, err := b.room.Write(ctx, alice, one, room.Create{})
	b.ok(err)
	d := f.(*draft)
	d.By(alice)
	if d.Size() != int64(len(grepOf(1))) || d.Changed() {
		t.Errorf("a new draft has %d bytes, changed %v", d.Size(), d.Changed())
	}
	_, err = d.Append([]byte("\n"))
	b.ok(err)
	mode := fs.FileMode(0o600)
	b.ok(d.SetAttr(ctx, backing.AttrChange{Mode: &mode}))
	b.ok(d.Sync())
	info, err := b.room.Stat(ctx, one)
	b.ok(err)
	if info != d.Info() || info.Mode != 0o600 || d.Changed() || b.content(one) != grepOf(1)+"\n" {
		t.Errorf("committed %+v, the draft says %+v", info, d.Info())
	}
	later := start.Add(time.Hour)
	b.ok(d.SetAttr(ctx, backing.AttrChange{ModTime: &later}))
	if info, err := b.room.Stat(ctx, one); err != nil || !info.ModTime.Equal(later) {
		t.Errorf("after a change of time: %+v, %v", info, err)
	}
	b.ok(d.Close())
}

func TestListFileDescribesWithoutContents(t *testing.T) {
	b := newBench(t)
	b.ok(b.save(one, grepOf(100<<10)))
	b.ok(b.save(two, grepOf(5)))
	got := b.content(".list")
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 2 || len(got) > 1000 || !strings.Contains(lines[0], `"filepath":"results/`+one+`"`) || !strings.Contains(lines[1], `"description":"Result for \"TODO\" (5B)"`) {
		t.Errorf("got %s", got)
	}
	if _, _, err := b.room.Write(ctx, alice, ".list", room.Create{}); !errors.Is(err, backing.ErrReadOnly) {
		t.Errorf("write to it: %v", err)
	}
}

// Hundreds of MB pass through.
func TestManyBigResultsDoNotStayInMemory(t *testing.T) {
	b := newBench(t)
	chunk := []byte(strings.Repeat("x", 1<<20))
	head, tail, _ := strings.Cut(grepOf(0), `""`)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range 4 {
		d := b.draft(fmt.Sprintf("s1-grep-%d.json", n))
		for _, piece := range append([][]byte{[]byte(head + `"`)}, append(repeat(chunk, 32), []byte(`"`+tail))...) {
			if _, err := d.Append(piece); err != nil {
				t.Fatal(err)
			}
		}
		b.ok(d.Commit(ctx))
		b.ok(d.Close())
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("128 MiB of results took %d MiB of memory, freed or not", got>>20)
	}
	if st := b.Status(); st.DiskBytes < 128<<20 || st.MemoryBytes != 0 {
		t.Errorf("status %+v", st)
	}
}

func repeat(p []byte, n int) (all [][]byte) {
	for range n {
		all = append(all, p)
	}
	return all
}
