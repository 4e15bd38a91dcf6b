package entries

import (
	"errors"
	"syscall"
	"testing"

	"ctxfs/backing"
	"ctxfs/room"
)

func no() bool  { return false }
func yes() bool { return true }

func TestAWithdrawnCommitLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(bob, two, true)
	_, err := d.WriteAt([]byte(superseding), 0)
	b.ok(err)
	if err := d.CommitIf(ctx, no); !errors.Is(err, room.ErrWithdrawn) {
		t.Fatalf("error is %v", err)
	}
	if _, err := b.store.Stat(ctx, backing.Key(two)); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("the entry: %v", err)
	}
	b.want(one, valid)
	if _, err := b.store.Stat(ctx, IntentsKey); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("the intents: %v", err)
	}
	b.ok(d.CommitIf(ctx, yes))
	b.ok(d.Close())
	b.wantChangelog(one, "Marked as superseded")
}

func TestAWithdrawnCommitOfTheSameContentSetsNoTime(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	before, err := b.Stat(ctx, one)
	b.ok(err)
	d := b.draft(alice, one, true)
	_, err = d.WriteAt([]byte(valid), 0)
	b.ok(err)
	at := b.at().Add(-1e12)
	b.ok(d.SetAttr(ctx, backing.AttrChange{ModTime: &at}))
	if err := d.CommitIf(ctx, no); !errors.Is(err, room.ErrWithdrawn) {
		t.Fatalf("error is %v", err)
	}
	if after, err := b.Stat(ctx, one); err != nil || after != before {
		t.Errorf("was %+v, is %+v, %v", before, after, err)
	}
	b.ok(d.Close())
}

func TestARefusalIsToldWithoutAsking(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, true)
	_, err := d.WriteAt([]byte("---\ntype: finding\n"), 0)
	b.ok(err)
	wantErrno(t, d.CommitIf(ctx, func() bool { t.Error("it was asked"); return false }), syscall.EINVAL)
	b.ok(d.Close())
}
