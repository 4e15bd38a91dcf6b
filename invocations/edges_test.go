package invocations

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/room"
)

func TestReadOnlyStoreIsReadAsItIs(t *testing.T) {
	b := newBench(t)
	b.ok(b.echo(call(1) + "}\n"))
	b.close()
	b.ok(appendTo(b.path(fileName), call(2)))
	before := b.stored(fileName)
	store, err := localdir.Open(b.dir, localdir.Options{ReadOnly: true, Log: slog.New(slog.DiscardHandler)})
	b.ok(err)
	h, err := Open(ctx, store, Options{})
	b.ok(err)
	if got, err := h.Read(ctx, 0); err != nil || names(got) != "t1" {
		t.Errorf("read %s, %v", names(got), err)
	}
	if _, err := h.Append(ctx, Entry{ToolName: "t"}); !errors.Is(err, backing.ErrReadOnly) {
		t.Errorf("appended: %v", err)
	}
	if _, _, err := h.Room().Write(ctx, alice, fileName, room.Create{Flags: syscall.O_WRONLY | syscall.O_APPEND}); !errors.Is(err, backing.ErrReadOnly) {
		t.Errorf("opened for writing: %v", err)
	}
	f, _, err := h.Room().Write(ctx, alice, fileName, room.Create{Flags: syscall.O_RDONLY})
	b.ok(err)
	b.ok(errors.Join(f.Close(), h.Close(), store.Close()))
	b.holds(before)
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// distant is a store that is no directory of this machine.
type distant struct{ backing.Store }

func TestStoreWithoutFilesIsRepairedAndAppendedTo(t *testing.T) {
	b := newBench(t)
	b.ok(b.echo(call(1) + "}\n"))
	b.ok(appendTo(b.path(fileName), call(2)))
	h, err := Open(ctx, distant{b.store}, Options{Now: now, NewID: newID})
	b.ok(err)
	_, err = h.Append(ctx, Entry{ToolName: "t3"})
	b.ok(err)
	got, err := h.Read(ctx, 0)
	if err != nil || names(got) != "t1 t3" {
		t.Errorf("read %s, %v", names(got), err)
	}
	if _, _, err := h.Room().Write(ctx, alice, fileName, room.Create{}); !errors.Is(err, syscall.ENOTSUP) {
		t.Errorf("opened as a file: %v", err)
	}
	b.ok(h.Close())
}

// full is a store without room for appends.
type full struct{ *localdir.Store }

func (full) Append(context.Context, backing.Key, []byte) (backing.Meta, error) {
	return backing.Meta{}, syscall.ENOSPC
}

func TestLineThatFoundNoRoomIsWrittenByTheNextTry(t *testing.T) {
	b := newBench(t)
	working := b.store
	f := b.open(appendFlags)
	_, err := f.WriteAt([]byte(call(1)), 0)
	b.ok(err)
	b.History.store = full{working.(*localdir.Store)}
	if n, err := f.WriteAt([]byte("}\n"), 0); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%d, %v", n, err)
	}
	b.History.store = working
	_, err = f.WriteAt([]byte("}\n"), 0)
	b.ok(errors.Join(err, f.Close()))
	b.holds(call(1), filled)
}

func TestHistoryThatWasRemovedFromTheStoreBeginsAnew(t *testing.T) {
	b := newBench(t)
	b.ok(b.echo(call(1) + "}\n"))
	b.ok(os.Remove(b.path(fileName)))
	if got, err := b.Read(ctx, 0); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	b.ok(b.echo(call(2) + "}\n"))
	b.holds(call(2), filled)
}

func TestMetadataOfTheHistory(t *testing.T) {
	b := newBench(t)
	mode := fs.FileMode(0o600)
	info, err := b.room.SetAttr(ctx, alice, fileName, backing.AttrChange{Mode: &mode})
	if err != nil || info.Mode != 0o600 || info.Kind != room.Plain {
		t.Errorf("%+v, %v", info, err)
	}
	dir, err := b.room.Stat(ctx, "")
	if err != nil || dir.Kind != room.Dir {
		t.Errorf("%+v, %v", dir, err)
	}
	for want, err := range map[error]error{
		syscall.EBUSY:       b.room.RemoveDir(ctx, alice, ""),
		backing.ErrNotDir:   b.room.RemoveDir(ctx, alice, fileName),
		backing.ErrIsDir:    b.room.Remove(ctx, alice, ""),
		syscall.EINVAL:      second(b.room.Readlink(ctx, fileName)),
		syscall.EPERM:       second(b.room.Symlink(ctx, alice, "x", "y")),
		backing.ErrNotFound: second(b.room.Stat(ctx, "none")),
	} {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if infos, err := b.room.List(ctx, "", fileName, 5); err != nil || len(infos) > 0 {
		t.Errorf("%v, %v", infos, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestReadStopsWhenItsContextEnds(t *testing.T) {
	b := newBench(t)
	b.ok(b.echo(call(1) + "}\n"))
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := b.Read(ended, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
