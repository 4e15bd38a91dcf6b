package entries

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

const invalid = "---\ntype: wrong\n---\nprecious\n"

// infoOf is what Stat says of path.
func infoOf(b *bench, path string) room.Info {
	b.t.Helper()
	info, err := b.Stat(ctx, path)
	b.ok(err)
	return info
}

// rejected is the draft in the .rej at path.
func rejected(t *testing.T, b *bench, path string) string {
	t.Helper()
	draft, ok := codec.RejDraft([]byte(b.read(path)))
	if !ok {
		t.Fatalf("%s is no refused draft: %q", path, b.read(path))
	}
	return string(draft)
}

func journalOf(t *testing.T, b *bench) (lines []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(b.journal.Last()) {
		var l map[string]any
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestRefusedDraftIsKeptBesideTheEntry(t *testing.T) {
	b := newBench(t)
	wantErrno(t, b.save(bob, one, invalid), syscall.EINVAL)
	if got := rejected(t, b, one+".rej"); got != invalid {
		t.Errorf("the .rej holds %q", got)
	}
	if text := b.read(one + ".rej"); !strings.HasPrefix(text, "# ") || !strings.Contains(text, "type") {
		t.Errorf("the .rej does not explain: %q", text)
	}
	b.wantGone(one)
	lines := journalOf(t, b)
	if len(lines) != 1 || lines[0]["path"] != one || lines[0]["agent"] != "bob" || lines[0]["field"] != "type" || lines[0]["errno"] != "EINVAL" {
		t.Errorf("the journal says %v", lines)
	}
	if strings.Contains(string(b.journal.Last()), "precious") {
		t.Error("the journal holds the entry's content")
	}
	b.ok(b.Remove(ctx, alice, one+".rej"))
	b.wantGone(one + ".rej")
}

func TestRefusedOverwriteLeavesTheOldVersion(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	wantErrno(t, b.save(bob, one, invalid), syscall.EINVAL)
	b.want(one, valid)
	if got := rejected(t, b, one+".rej"); got != invalid {
		t.Errorf("the .rej holds %q", got)
	}
}

func TestPendingStaysWhereAnotherMadeIt(t *testing.T) {
	b := newBench(t)
	b.ok(b.draft(alice, one, false).Close())
	wantErrno(t, b.save(bob, one, invalid), syscall.EINVAL)
	b.want(one, "")
}

// The mount ends a draft some time after its close: the next try may have begun.
func TestPendingEndsWithTheLastOfTwoRefusedDrafts(t *testing.T) {
	b := newBench(t)
	first, second := b.draft(alice, one, false), b.draft(alice, one, false)
	for _, d := range []*draft{first, second} {
		_, err := d.WriteAt([]byte(invalid), 0)
		d.Refuse(ctx, err)
	}
	b.ok(first.Close())
	b.want(one, "")
	b.ok(second.Close())
	b.wantGone(one)
}

func TestRefusalIsToldOncePerDraft(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, false)
	_, err := d.WriteAt([]byte(invalid), 0)
	for range 3 {
		d.Refuse(ctx, err)
		d.Refuse(ctx, d.Commit(ctx))
	}
	b.ok(d.Close())
	if n := len(journalOf(t, b)); n != 1 {
		t.Errorf("%d lines for one refusal", n)
	}
}

func TestRejFollowsTheDraft(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, false)
	_, err := d.WriteAt([]byte(invalid), 0)
	d.Refuse(ctx, err)
	_, err = d.Append([]byte("and more\n"))
	d.Refuse(ctx, err)
	b.ok(d.Close())
	if got := rejected(t, b, one+".rej"); got != invalid+"and more\n" {
		t.Errorf("the .rej holds %q", got)
	}
}

func TestValidSaveRemovesTheRej(t *testing.T) {
	b := newBench(t)
	wantErrno(t, b.save(bob, one, invalid), syscall.EINVAL)
	b.mustSave(alice, one, valid)
	b.wantGone(one + ".rej")
	b.want(one, valid)
}

func TestRejOfAnotherProgramStays(t *testing.T) {
	b := newBench(t)
	b.write("alice/20260221T143022-one.md.rej", "--- a rejected hunk of patch\n", 0o644)
	wantErrno(t, b.save(bob, one, invalid), syscall.EINVAL)
	if got := rejected(t, b, one+".2.rej"); got != invalid {
		t.Errorf("the .rej holds %q", got)
	}
	b.mustSave(alice, one, valid)
	b.wantGone(one + ".2.rej")
	b.want(one+".rej", "--- a rejected hunk of patch\n")
}

func TestRefusedDraftsOfTwoAgentsBothStay(t *testing.T) {
	b := newBench(t)
	wantErrno(t, b.save(alice, one, invalid+"of alice"), syscall.EINVAL)
	wantErrno(t, b.save(bob, one, invalid+"of bob"), syscall.EINVAL)
	wantErrno(t, b.save(alice, one, invalid+"of alice again"), syscall.EINVAL)
	if got := rejected(t, b, one+".rej"); got != invalid+"of alice again" {
		t.Errorf("alice's holds %q", got)
	}
	if got := rejected(t, b, one+".2.rej"); got != invalid+"of bob" {
		t.Errorf("bob's holds %q", got)
	}
}

func TestRejOfALongNameFits(t *testing.T) {
	b := newBench(t)
	long := "20260221T143022-" + strings.Repeat("x", 251-16-3) + ".md"
	other := "20260221T143022-" + strings.Repeat("x", 251-16-4) + "y.md"
	for _, name := range []string{long, other} {
		wantErrno(t, b.save(alice, "alice/"+name, invalid), syscall.EINVAL)
		wantErrno(t, b.save(bob, "alice/"+name, invalid), syscall.EINVAL)
	}
	names := b.names("alice")
	if len(names) != 4 {
		t.Fatalf("the directory holds %q", names)
	}
	for _, name := range names {
		if len(name) > 255 || codec.IsEntry(name) || !strings.HasSuffix(name, ".rej") {
			t.Errorf("a .rej is named %q", name)
		}
	}
	b.mustSave(alice, "alice/"+long, valid)
	if names := b.names("alice"); len(names) != 3 {
		t.Errorf("after one valid save the directory holds %q", names)
	}
}

func TestFaultsOfTheStoreAreToldAsRefusals(t *testing.T) {
	r := refusalOf(errors.Join(errors.New("disk"), syscall.ENOSPC), one)
	if r.Errno != syscall.ENOSPC || r.Path != one || !strings.Contains(r.Reason, "disk") {
		t.Errorf("%+v", r)
	}
	if r := refusalOf(backing.ErrConflict, one); r.Errno != syscall.EIO {
		t.Errorf("%+v", r)
	}
}
