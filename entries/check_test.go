package entries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
)

func TestCheckReportsWhatIsWrong(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.onDisk("README.md", "the user's")
	b.onDisk("alice/notes.md", "x")
	b.onDisk("alice/20260221T143030-invalid.md", invalid)
	b.onDisk("alice/20260221T143031-incomplete.md", "---\ntype: finding\n---\n")
	b.onDisk("alice/20260221T143032-dangling.md", strings.Replace(valid, "tags: [a]\n", "tags: [a]\nlinks: [bob/20260221T143022-x.md, 20260221T143022-one.md]\n", 1))
	b.onDisk("alice/s1/20260221T143033-changelog.md", valid+"\n## Changelog\n- 2026-02-22T10:00:00Z [a]: good\n- bad\n")
	b.onDisk("alice/s1/deep/x", "x")
	b.ok(os.Symlink("/etc", filepath.Join(b.dir, "alice/link")))
	wantErrno(t, b.save(bob, two, invalid), syscall.EINVAL)

	type found struct {
		field   string
		warning bool
	}
	want := map[string]found{
		"alice/notes.md":                        {"", false},
		"alice/20260221T143030-invalid.md":      {"type", false},
		"alice/20260221T143031-incomplete.md":   {"agent", true},
		"alice/20260221T143032-dangling.md":     {"links", true},
		"alice/s1/20260221T143033-changelog.md": {"changelog", true},
		"alice/s1/deep":                         {"", true},
		"alice/link":                            {"", true},
		two + ".rej":                            {"", true},
	}
	b.ok(b.Check(ctx, func(p Problem) {
		if p.Reason == "" || p.Fix == "" {
			t.Errorf("a problem without reason or fix: %+v", p)
		}
		if w, ok := want[p.Path]; !ok || w != (found{p.Field, p.Warning}) {
			t.Errorf("unexpected: %+v", p)
		}
		delete(want, p.Path)
	}))
	for path := range want {
		t.Errorf("nothing reported of %s", path)
	}
}

func TestCheckOfASoundStoreIsSilent(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.mustSave(bob, two, superseding)
	b.mustSave(bob, one, valid+"More.\n")
	b.ok(b.Check(ctx, func(p Problem) { t.Errorf("%+v", p) }))
}

// found is what a check reports, a line each, in the order of their text.
func (b *bench) found() []string {
	b.t.Helper()
	var all []string
	b.ok(b.Check(ctx, func(p Problem) { all = append(all, p.Path+" "+p.Field+": "+p.Reason) }))
	slices.Sort(all)
	return all
}

func (b *bench) wantFound(want ...string) {
	b.t.Helper()
	if all := b.found(); !slices.Equal(all, want) {
		b.t.Errorf("found:\n%s\nwant:\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
}

func TestCheckReadsTheVersions(t *testing.T) {
	b := newBench(t)
	for _, more := range []string{"", "One.\n", "Two.\n", "Three.\n", "Four.\n"} {
		b.mustSave(alice, one, valid+more)
		b.pass(time.Minute)
	}
	kept := filepath.Join(b.dir, ".ctxfs/versions", one)
	b.ok(os.Remove(filepath.Join(kept, "1"))) // as housekeeping does
	b.wantFound()
	b.ok(os.Remove(filepath.Join(kept, "3")))
	dropped := b.changelog(one)[1]
	b.onDisk("alice/copy", strings.Replace(b.read(one), dropped+"\n", "", 1))
	b.ok(os.Rename(filepath.Join(b.dir, "alice/copy"), filepath.Join(b.dir, one)))
	b.wantFound(
		one+" changelog: a line of version 4 is not in the entry itself: "+fmt.Sprintf("%.80q", dropped),
		one+" versions: of its versions number 3 is missing")
}

// mendAll calls every Mend of a check, and returns what they say they did.
func (b *bench) mendAll() (did []string) {
	b.t.Helper()
	b.ok(b.Check(ctx, func(p Problem) {
		if p.Mend == nil {
			b.t.Errorf("nothing mends %+v", p)
			return
		}
		what, err := p.Mend(ctx)
		b.ok(err)
		did = append(did, p.Path+": "+what)
	}))
	slices.Sort(did)
	return did
}

func TestWhatLosesNothingIsMended(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	bare := "---\ntype: finding\nsupersedes: [20260221T143022-one.md]\n---\nText.\n"
	b.onDisk(two, bare)
	want := []string{one + ": added the line", two + ": added the link", two + ": filled it in"}
	if did := b.mendAll(); !slices.Equal(did, want) {
		t.Errorf("mended: %q", did)
	}
	b.wantFound()
	b.wantChangelog(one, "[alice]: Marked as superseded, see "+two)
	b.wantChangelog(two, "["+Checker+"]: ")
	if text := b.read(two); !strings.Contains(text, "\nagent: alice\n") || !strings.Contains(text, "Text.\n") {
		t.Errorf("the entry is %s", text)
	}
	v, err := b.readVersion(ctx, place{path: two}, 1)
	if b.ok(err); string(v) != bare {
		t.Errorf("what it was is kept as %s", v)
	}
}

func TestAnInterruptedMarkIsFinishedByTheCheckThatMends(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.onDisk(two, superseding)
	b.onDisk(string(IntentsKey), `{"new":"`+two+`","old":"`+one+`","agent":"alice","time":"2026-02-22T09:00:00Z"}`+"\n")
	var reported []Problem
	b.ok(CheckStore(ctx, b.store, b.o, func(p Problem) {
		if p.Leftover {
			reported = append(reported, p)
			did, err := p.Mend(ctx)
			b.ok(err)
			t.Log(did)
		}
	}))
	if len(reported) != 1 || reported[0].Path != string(IntentsKey) {
		t.Errorf("the leftovers are %+v", reported)
	}
	b.wantChangelog(one, "2026-02-22T09:00:00Z [alice]: Marked as superseded, see "+two)
	if _, err := b.store.Stat(ctx, IntentsKey); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("the list of marks is still there: %v", err)
	}
}

func TestAMendTakesNothingBackThatAnotherHostSavesMeanwhile(t *testing.T) {
	b := newBench(t)
	b.onDisk(two, "---\ntype: finding\n---\nText.\n")
	theirs := "---\ntype: decision\n---\nTheir text.\n"
	var once sync.Once
	b.store.onPut(func(_ backing.Key, put func() (backing.Meta, error)) (backing.Meta, error) {
		once.Do(func() {
			if _, err := b.store.Store.Put(ctx, two, strings.NewReader(theirs), backing.PutOptions{KeepVersion: true}); err != nil {
				t.Error(err)
			}
		})
		return put()
	})
	if did := b.mendAll(); !slices.Equal(did, []string{two + ": filled it in"}) {
		t.Errorf("mended: %q", did)
	}
	cur, err := b.current(ctx, mustPlace(t, two))
	b.ok(err)
	for _, want := range []string{"Their text.", "type: decision", "agent: alice"} {
		if !strings.Contains(string(cur.content), want) {
			t.Errorf("%q is not in %q", want, cur.content)
		}
	}
}
