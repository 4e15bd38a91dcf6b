package results

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/room"
)

func TestReadOnlyStoreHasNoResultsAndTakesNone(t *testing.T) {
	dir := t.TempDir()
	newBenchIn(t, dir, 0).close()
	store, err := localdir.Open(dir, localdir.Options{ReadOnly: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(ctx, store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Session("s").SaveContext(ctx, "t", nil, 1, "", ""); !errors.Is(err, backing.ErrReadOnly) {
		t.Errorf("saved: %v", err)
	}
	for _, name := range []string{one, "tmp"} {
		if _, _, err := r.Room().Write(ctx, alice, name, room.Create{New: true, Flags: syscall.O_WRONLY}); !errors.Is(err, backing.ErrReadOnly) {
			t.Errorf("%s is opened for writing: %v", name, err)
		}
	}
	if infos, err := r.Room().List(ctx, "", "", 10); err != nil || len(infos) > 0 {
		t.Errorf("%v, %v", infos, err)
	}
	if err := errors.Join(r.Close(), store.Close()); err != nil {
		t.Error(err)
	}
}

// full is a store without room.
type full struct{ backing.Store }

func (full) Put(context.Context, backing.Key, io.Reader, backing.PutOptions) (backing.Meta, error) {
	return backing.Meta{}, syscall.ENOSPC
}

func TestFullDiskIsReportedAndTheOldResultStays(t *testing.T) {
	b := newBench(t)
	b.ok(b.save(one, grepOf(1)))
	working := b.store
	b.Results.store = full{working}
	d := b.draft(one)
	_, err := d.WriteAt([]byte(grepOf(100<<10)), 0)
	b.ok(err)
	err = d.Commit(ctx)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("committed: %v", err)
	}
	d.Refuse(ctx, err)
	b.ok(d.Close())
	if got := b.content(one); got != grepOf(1) || b.Status().MemoryBytes != int64(len(grepOf(1))) {
		t.Errorf("holds %q; %+v", got, b.Status())
	}
	if !strings.Contains(string(b.journal.Last()), "ENOSPC") {
		t.Errorf("the journal: %s", b.journal.Last())
	}
	b.Results.store = working
	b.ok(b.save(one, grepOf(2)))
}

func TestTooLongAResultIsRefusedAndNothingOfItIsKept(t *testing.T) {
	b := newBench(t)
	d := b.draft(one)
	_, err := d.WriteAt([]byte("x"), MaxSize)
	d.Refuse(ctx, err)
	b.refused(err, syscall.EFBIG, "1024 MiB")
	b.refused(d.Commit(ctx), syscall.EFBIG, "1024 MiB")
	b.refused(d.Truncate(MaxSize+1), syscall.EFBIG, "1024 MiB")
	b.ok(d.Truncate(0))
	_, err = d.WriteAt([]byte(grepOf(1)), 0)
	b.ok(err)
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	if got := b.content(one); got != grepOf(1) {
		t.Errorf("after it began anew: %q", got)
	}
}

func TestDraftIsReadByItsWriter(t *testing.T) {
	b := newBench(t)
	for _, size := range []int{1, 100 << 10} {
		b.ok(b.save(one, grepOf(size)))
		f, _, err := b.room.Write(ctx, alice, one, room.Create{})
		b.ok(err)
		d := f.(*draft)
		got, err := io.ReadAll(io.NewSectionReader(d, 0, d.Size()))
		if err != nil || string(got) != grepOf(size) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		b.ok(d.Truncate(int64(size)))
		buf := make([]byte, 3)
		if n, err := d.ReadAt(buf, 0); n == 0 || err != nil && !errors.Is(err, io.EOF) || buf[0] != '{' {
			t.Errorf("%q, %v", buf, err)
		}
		if err := d.Commit(ctx); err == nil {
			t.Error("a cut result is committed")
		}
		b.ok(d.Close())
		if got := b.content(one); got != grepOf(size) {
			t.Errorf("the result is %d bytes", len(got))
		}
	}
}

func TestMetadataOfResultsAndOfTheDirectory(t *testing.T) {
	b := newBench(t)
	b.ok(b.save(one, grepOf(1)))
	before, err := b.room.Stat(ctx, one)
	b.ok(err)
	mode, uid, gid := fs.FileMode(0o4600), uint32(7), uint32(8)
	info, err := b.room.SetAttr(ctx, alice, one, backing.AttrChange{Mode: &mode, UID: &uid, GID: &gid})
	if err != nil || info.Mode != 0o600 || info.UID != 7 || info.GID != 8 || info.Revision == before.Revision {
		t.Errorf("%+v, %v", info, err)
	}
	// A reader of the old metadata still finds the content.
	c, err := b.room.Read(ctx, one, before.Revision)
	b.ok(err)
	if readAll(t, c) != grepOf(1) {
		t.Error("another content")
	}
	b.plain("tmp", "x")
	plainMode := fs.FileMode(0o600)
	if info, err := b.room.SetAttr(ctx, alice, "tmp", backing.AttrChange{Mode: &plainMode}); err != nil || info.Mode != 0o600 {
		t.Errorf("%+v, %v", info, err)
	}
	dir, err := b.room.Stat(ctx, "")
	if err != nil || dir.Kind != room.Dir || dir.Mode != 0o755 || dir.ModTime.IsZero() {
		t.Errorf("%+v, %v", dir, err)
	}
	for want, err := range map[error]error{
		backing.ErrNotDir:   b.room.RemoveDir(ctx, alice, one),
		syscall.EBUSY:       b.room.RemoveDir(ctx, alice, ""),
		backing.ErrNotFound: b.room.RemoveDir(ctx, alice, "none"),
		syscall.EPERM:       second(b.room.SetAttr(ctx, alice, "", backing.AttrChange{Mode: &mode})),
		backing.ErrReadOnly: second(b.room.SetAttr(ctx, alice, ".list", backing.AttrChange{Mode: &mode})),
		syscall.EINVAL:      second(b.room.Readlink(ctx, one)),
	} {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	for _, err := range []error{b.room.Remove(ctx, alice, "none"), b.room.Remove(ctx, alice, two), b.room.Rename(ctx, alice, two, one, 0),
		second(b.room.SetAttr(ctx, alice, two, backing.AttrChange{Mode: &mode})), second(b.room.Read(ctx, two, "")), second(b.room.Stat(ctx, two))} {
		if !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("got %v, want not found", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestCheckPassesOnWhatTheReaderSays(t *testing.T) {
	broken := errors.New("broken")
	for _, head := range []string{"", `{"toolName": "gr`, grepOf(1)} {
		r := io.MultiReader(bytes.NewReader([]byte(head)), failing{broken})
		if _, err := Check(one, r); !errors.Is(err, broken) {
			t.Errorf("after %q: %v", head, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func BenchmarkCheck(b *testing.B) {
	content := []byte(`{"toolName":"grep","args":{"query":"TODO"},"result":[` + strings.Repeat(`{"file":"src/main.ts","line":12,"text":"// TODO: näher"},`, 20000) +
		`1],"timestamp":"2024-01-15T10:30:00Z","queryId":"q","sessionId":"s1"}`)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Check(one, bytes.NewReader(content)); err != nil {
			b.Fatal(err)
		}
	}
}
