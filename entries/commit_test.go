package entries

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
)

func TestCompleteEntryIsStoredByteForByte(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.want(one, valid)
	b.wantVersions(one, 0)
}

func TestMissingFieldsAreFilledIn(t *testing.T) {
	b := newBench(t)
	b.mkdir("alice/night")
	b.mustSave(bob, "alice/night/20260221T143022-x.md", "---\ntype: finding\n---\nbody\n")
	got := b.read("alice/night/20260221T143022-x.md")
	for _, line := range []string{"agent: alice\n", "sessionId: s2\n", "2026-02-21T14:30:22Z", "tags: []\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in %q", line, got)
		}
	}
}

func TestStrictRefusesInsteadOfFillingIn(t *testing.T) {
	b := newBenchIn(t, t.TempDir(), true)
	wantErrno(t, b.save(alice, one, "---\ntype: finding\n---\nbody\n"), syscall.EINVAL)
	b.mustSave(alice, one, valid)
}

func TestOverwriteGivesOneLineAndOneVersion(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.mustSave(bob, one, strings.Replace(valid, "finding", "decision", 1))
	b.wantChangelog(one, "- 2026-02-22T10:00:00Z [bob]: ")
	b.wantVersions(one, 1)
	c, err := b.store.OpenVersion(ctx, one, 1)
	b.ok(err)
	defer c.Close()
	old := make([]byte, c.Size())
	if _, err := c.ReadAt(old, 0); err != nil || string(old) != valid {
		t.Errorf("version 1 holds %q, %v", old, err)
	}
}

func TestOverwriteKeepsTheSessionOfTheEntry(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.mustSave(bob, one, strings.Replace(valid, "sessionId: s1\n", "", 1))
	if got := b.read(one); !strings.Contains(got, "sessionId: s1\n") {
		t.Errorf("the entry has another session: %q", got)
	}
}

func TestSaveThatChangesNothingCommitsNothing(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	before, err := b.Stat(ctx, one)
	b.ok(err)
	b.mustSave(bob, one, valid)
	if after, err := b.Stat(ctx, one); err != nil || after != before {
		t.Errorf("was %+v, is %+v, %v", before, after, err)
	}
	b.wantVersions(one, 0)
}

func TestInvalidOldVersionCanBeOverwritten(t *testing.T) {
	for name, old := range map[string]string{
		"no frontmatter": "just text\n\n## Changelog\n- 2026-01-01T00:00:00Z [x]: kept\n",
		"empty":          "", "binary": "\x00\xff\xfe---", "broken yaml": "---\n: [\n---\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.onDisk(one, old)
			b.mustSave(alice, one, valid)
			if got := b.read(one); !strings.HasPrefix(got, valid) {
				t.Errorf("stored %q", got)
			}
			if strings.Contains(old, "kept") && !strings.Contains(b.read(one), "[x]: kept") {
				t.Error("a line of the changelog is lost")
			}
			b.wantVersions(one, 1)
		})
	}
}

func TestConcurrentWritersKeepBothLinesAndTheLosersVersion(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	first, second := b.draft(alice, one, true), b.draft(bob, one, true)
	for d, text := range map[*draft]string{first: valid + "Of alice.\n", second: valid + "Of bob.\n"} {
		_, err := d.WriteAt([]byte(text), 0)
		b.ok(err)
	}
	b.ok(first.Commit(ctx))
	b.ok(second.Commit(ctx))
	b.ok(first.Close())
	b.ok(second.Close())
	lines := b.changelog(one)
	if len(lines) != 2 || strings.Contains(lines[0], "concurrent") || !strings.Contains(lines[1], "(over a concurrent change by alice)") {
		t.Errorf("the changelog says %q", lines)
	}
	if got := b.read(one); !strings.Contains(got, "Of bob.") || strings.Contains(got, "Of alice.") {
		t.Errorf("the later body does not win: %q", got)
	}
	b.wantVersions(one, 2)
}

func TestManyConcurrentWritersLoseNoLine(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	const writers = 12
	errs := make(chan error, writers)
	for i := range writers {
		go func() { errs <- b.save(bob, one, valid+strings.Repeat("x", i+1)+"\n") }()
	}
	for range writers {
		b.ok(<-errs)
	}
	if n := len(b.changelog(one)); n != writers {
		t.Errorf("%d lines for %d writes", n, writers)
	}
	b.wantVersions(one, writers)
}

func TestFurtherCommitOfADraftAmends(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(bob, one, false)
	for range 3 {
		_, err := d.Append([]byte("More.\n"))
		b.ok(err)
		b.ok(d.Commit(ctx))
		b.pass(time.Minute)
		b.wantChangelog(one, "- 2026-02-22T10:00:00Z [bob]: ")
		b.wantVersions(one, 1)
	}
	b.ok(d.Close())
	if got := strings.Count(b.read(one), "More.\n"); got != 3 {
		t.Errorf("%d of 3 lines are there", got)
	}
}

func TestFurtherCommitOfANewEntryIsStillItsFirstVersion(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, false)
	_, err := d.WriteAt([]byte(valid), 0)
	b.ok(err)
	b.ok(d.Sync())
	_, err = d.Append([]byte("More.\n"))
	b.ok(err)
	b.ok(d.Sync())
	b.ok(d.Close())
	b.want(one, valid+"More.\n")
	b.wantVersions(one, 0)
}

func TestAmendmentAfterAnothersCommitIsANewOverwrite(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(alice, one, true)
	_, err := d.WriteAt([]byte(valid+"A.\n"), 0)
	b.ok(err)
	b.ok(d.Commit(ctx))
	b.mustSave(bob, one, valid+"B.\n")
	_, err = d.Append([]byte("AA.\n"))
	b.ok(err)
	b.ok(d.Commit(ctx))
	_, err = d.Append([]byte("AAA.\n"))
	b.ok(err)
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	b.wantChangelog(one, "[alice]", "[bob]", "(over a concurrent change by bob)")
	b.wantVersions(one, 3)
}

func TestChmodBetweenCommitsIsNoConcurrentChange(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(alice, one, true)
	touch := func() {
		t.Helper()
		then := b.at().Add(-time.Hour)
		b.pass(time.Second)
		if _, err := b.SetAttr(ctx, alice, one, backing.AttrChange{Mode: new(infoOf(b, one).Mode ^ 0o040), ModTime: &then}); err != nil {
			t.Fatal(err)
		}
	}
	touch()
	for range 2 {
		_, err := d.Append([]byte(valid))
		b.ok(err)
		b.ok(d.Commit(ctx))
		touch()
	}
	b.ok(d.Close())
	if lines := b.changelog(one); len(lines) != 1 || strings.Contains(lines[0], "concurrent") {
		t.Errorf("the changelog says %q", lines)
	}
	b.wantVersions(one, 1)
}

func TestPutWithUnknownEndIsRepeatedAsOneWrite(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	calls := 0
	b.store.onPut(func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		if calls++; calls == 1 {
			if _, err := put(); err != nil {
				return backing.Meta{}, err
			}
			return backing.Meta{}, backing.ErrUnknown
		}
		return put()
	})
	b.mustSave(bob, one, valid+"More.\n")
	if calls != 2 {
		t.Errorf("%d puts, want 2", calls)
	}
	b.wantChangelog(one, "[bob]")
	b.wantVersions(one, 1)
}

func TestUnknownEndOfACommitSticks(t *testing.T) {
	b := newBench(t)
	b.store.onPut(func(backing.Key, func() (backing.Meta, error)) (backing.Meta, error) {
		return backing.Meta{}, backing.ErrUnknown
	})
	d := b.draft(alice, one, false)
	_, err := d.WriteAt([]byte(valid), 0)
	b.ok(err)
	for range 2 {
		if err := d.Commit(ctx); !errors.Is(err, syscall.EIO) {
			t.Errorf("commit: %v, want EIO", err)
		}
		b.store.onPut(nil)
	}
	d.Refuse(ctx, d.Commit(ctx))
	b.ok(d.Close())
	if got := rejected(t, b, one+".rej"); got != valid {
		t.Errorf("the .rej holds %q", got)
	}
}

func TestConflictWithAnotherProgramIsMergedAgain(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	edited := false
	b.store.onPut(func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		if !edited {
			edited = true
			b.onDisk(one, valid+"\n## Changelog\n- 2026-02-22T09:00:00Z [editor]: from outside\n")
		}
		return put()
	})
	b.mustSave(bob, one, valid+"More.\n")
	b.wantChangelog(one, "[editor]: from outside", "(over a concurrent change by editor)")
}

func TestFullStoreLeavesTheOldVersion(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.store.onPut(func(key backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		if string(key) == one {
			return backing.Meta{}, syscall.ENOSPC
		}
		return put()
	})
	if err := b.save(alice, one, valid+"More.\n"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("saved on a full store: %v", err)
	}
	b.want(one, valid)
	if got := rejected(t, b, one+".rej"); got != valid+"More.\n" {
		t.Errorf("the .rej holds %q", got)
	}
	if lines := journalOf(t, b); len(lines) != 1 || lines[0]["errno"] != "ENOSPC" {
		t.Errorf("the journal says %v", lines)
	}
}
