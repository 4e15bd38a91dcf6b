package entries

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

func TestTouchedEntryIsPendingUntilContent(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, false)
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	info, err := b.Stat(ctx, one)
	if err != nil || info.Size != 0 || info.Kind != room.Object || info.Revision != "pending-1" {
		t.Fatalf("a touched entry is %+v, %v", info, err)
	}
	b.want(one, "")
	if _, err := b.store.Stat(ctx, one); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("the store has it: %v", err)
	}
	b.mustSave(alice, one, valid)
	b.want(one, valid)
	b.wantVersions(one, 0)
	b.ok(b.draft(alice, two, false).Close())
	b = b.reopen()
	b.wantGone(two)
	b.want(one, valid)
}

func TestExclusiveCreateFindsPendingAndStored(t *testing.T) {
	b := newBench(t)
	exclusive := room.Create{New: true, Exclusive: true, Mode: 0o644}
	f, _, err := b.Write(ctx, alice, one, exclusive)
	b.ok(err)
	if _, _, err := b.Write(ctx, bob, one, exclusive); !errors.Is(err, backing.ErrExists) {
		t.Errorf("a pending entry was created again: %v", err)
	}
	_, err = f.WriteAt([]byte(valid), 0)
	b.ok(err)
	b.ok(f.Sync())
	b.ok(f.Close())
	if _, _, err := b.Write(ctx, bob, one, exclusive); !errors.Is(err, backing.ErrExists) {
		t.Errorf("a stored entry was created again: %v", err)
	}
}

func TestRemovedPendingRefusesItsDraft(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, false)
	_, err := d.WriteAt([]byte(valid), 0)
	b.ok(err)
	b.ok(b.Remove(ctx, alice, one))
	err = d.Commit(ctx)
	wantErrno(t, err, syscall.ENOENT)
	d.Refuse(ctx, err)
	b.ok(d.Close())
	b.wantGone(one)
	if got := rejected(t, b, one+".rej"); got != valid {
		t.Errorf("the .rej holds %q", got)
	}
}

func TestTwoWritersOfOnePendingKeepBoth(t *testing.T) {
	b := newBench(t)
	first, second := b.draft(alice, one, false), b.draft(bob, one, false)
	_, err := first.WriteAt([]byte(valid), 0)
	b.ok(err)
	_, err = second.WriteAt([]byte(valid+"Of bob.\n"), 0)
	b.ok(err)
	b.ok(first.Commit(ctx))
	b.want(one, valid)
	b.ok(second.Commit(ctx))
	b.wantChangelog(one, "(over a concurrent change by alice)")
	b.wantVersions(one, 1)
	b.ok(first.Close())
	b.ok(second.Close())
}

func TestNewEntryHasTheModeItWasCreatedWith(t *testing.T) {
	b := newBench(t)
	f, info, err := b.Write(ctx, alice, one, room.Create{New: true, Mode: 0o4200})
	b.ok(err)
	if info.Mode != 0o600 {
		t.Errorf("pending with mode %v, want 0600", info.Mode)
	}
	mode := backing.AttrChange{Mode: new(info.Mode | 0o040)}
	if _, err := b.SetAttr(ctx, alice, one, mode); err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(valid), 0)
	b.ok(err)
	b.ok(f.Sync())
	b.ok(f.Close())
	if info, err := b.Stat(ctx, one); err != nil || info.Mode != 0o640 {
		t.Errorf("stored with mode %v, %v; want 0640", info.Mode, err)
	}
}

// `cp -p`: the time and the mode are set while the draft is open.
func TestWhatAWriterSetsOnItsDraftComesWithTheCommit(t *testing.T) {
	for name, content := range map[string]string{"new content": valid + "more\n", "the same content": valid} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.mustSave(alice, one, valid)
			before := infoOf(b, one)
			then := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
			d := b.draft(alice, one, true)
			_, err := d.WriteAt([]byte(content), 0)
			b.ok(err)
			b.ok(d.SetAttr(ctx, backing.AttrChange{ModTime: &then, Mode: new(fs.FileMode(0o4600))}))
			if info := d.Info(); !info.ModTime.Equal(then) || info.Mode != 0o600 {
				t.Errorf("the draft is %+v", info)
			}
			if now := infoOf(b, one); now != before {
				t.Errorf("the committed version was changed: %+v", now)
			}
			b.ok(d.Commit(ctx))
			now := infoOf(b, one)
			if !now.ModTime.Equal(then) || now.Mode != 0o600 {
				t.Errorf("committed as %+v", now)
			}
			if info := d.Info(); info.Revision != now.Revision || info.Size != int64(len(content)) {
				t.Errorf("after the commit the draft is %+v, the entry %+v", info, now)
			}
			b.ok(d.SetAttr(ctx, backing.AttrChange{Mode: new(fs.FileMode(0o644))}))
			if now := infoOf(b, one); now.Mode != 0o644 || d.Info().Revision != now.Revision {
				t.Errorf("a committed draft did not pass the mode on: %+v", now)
			}
			b.ok(d.Close())
		})
	}
}
