package entries

import (
	"encoding/json"
	"errors"
	"path"
	"strings"
	"syscall"
	"testing"

	"ctxfs/backing"
)

const superseding = "---\ntype: finding\ntags: []\nsupersedes: [20260221T143022-one.md]\n---\nbetter\n"

func TestSupersedingLinksAndMarksTheOldEntry(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.mustSave(bob, two, superseding)
	if got := b.read(two); !strings.Contains(got, "links:") {
		t.Errorf("the new entry has no link: %q", got)
	}
	b.wantChangelog(one, "- 2026-02-22T10:00:00Z [bob]: Marked as superseded, see "+two)
	b.wantVersions(one, 1)
	if _, err := b.store.Stat(ctx, IntentsKey); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("the intent is still there: %v", err)
	}
	b.mustSave(bob, two, superseding) // a rewrite marks and changes nothing
	b.wantChangelog(one, "superseded")
	b.wantVersions(two, 0)
}

func TestSupersedingAMissingEntryIsRefused(t *testing.T) {
	b := newBench(t)
	for _, target := range []string{"20260221T143022-one.md", "../bob/20260221T143022-x.md", "20260221T143023-two.md", "vars/global/x"} {
		err := b.save(alice, two, strings.Replace(superseding, "20260221T143022-one.md", target, 1))
		wantErrno(t, err, syscall.EINVAL)
		if !strings.Contains(err.Error(), "supersedes") {
			t.Errorf("the refusal does not name the field: %v", err)
		}
	}
	b.wantGone(two)
}

func TestTwoEntriesMaySupersedeEachOtherAtOnce(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.mustSave(alice, two, valid)
	done := make(chan error, 2)
	for from, to := range map[string]string{one: two, two: one} {
		go func() { done <- b.save(bob, from, strings.Replace(superseding, path.Base(one), to, 1)) }()
	}
	b.ok(<-done)
	b.ok(<-done)
	for _, entry := range []string{one, two} {
		if !strings.Contains(b.read(entry), "Marked as superseded") {
			t.Errorf("%s is not marked: %q", entry, b.read(entry))
		}
	}
}

func TestStartFinishesWhatACrashLeft(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.store.onPut(func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		if string(key) == one {
			return backing.Meta{}, errors.New("the power has gone")
		}
		return put()
	})
	b.mustSave(bob, two, superseding)
	b.want(one, valid)
	b = b.reopen()
	b.wantChangelog(one, "[bob]: Marked as superseded, see "+two)
	b = b.reopen()
	b.wantChangelog(one, "[bob]: Marked as superseded, see "+two)
}

func TestMarkThatFailsAtAStartIsLeftToTheNext(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	full := func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		if string(key) == one {
			return backing.Meta{}, syscall.ENOSPC
		}
		return put()
	}
	b.store.onPut(full)
	b.mustSave(bob, two, superseding)
	b.ok(b.repair(ctx))
	b.want(one, valid)
	b.mustSave(bob, "alice/20260221T143024-three.md", strings.Replace(superseding, path.Base(one), two, 1))
	b = b.reopen()
	b.wantChangelog(one, "Marked as superseded, see "+two)
	b.wantChangelog(two, "Marked as superseded, see alice/20260221T143024-three.md")
}

func TestStartForgetsWhatNeverCameToBe(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	line, err := json.Marshal(mark{New: two, Old: one, Agent: "bob", Time: b.at()})
	b.ok(err)
	b.onDisk(string(IntentsKey), string(line)+"\n"+string(line[:10]))
	b = b.reopen()
	b.want(one, valid)
	if _, err := b.store.Stat(ctx, IntentsKey); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("the intent is still there: %v", err)
	}
}

func TestRefusedPutLeavesNoIntent(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.store.onPut(func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		return backing.Meta{}, syscall.ENOSPC
	})
	if err := b.save(bob, two, superseding); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("saved: %v", err)
	}
	if _, err := b.store.Stat(ctx, IntentsKey); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("the intent is still there: %v", err)
	}
	b.want(one, valid)
}
