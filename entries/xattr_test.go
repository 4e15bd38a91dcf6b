package entries

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"ctxfs/backing"
)

func TestXattrsShowTheFrontmatter(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, "---\ntype: finding\ntags: [a, \"b, c\"]\nlinks: [bob/20260101T000000-x.md]\n---\n\n# One\n")
	want := map[string]string{"agent": "alice", "session": "s1", "type": "finding", "tags": "a\nb, c",
		"links": "bob/20260101T000000-x.md", "version": "1"}
	names, err := b.ListXattr(ctx, one)
	b.ok(err)
	if len(names) != len(want) {
		t.Errorf("%q", names)
	}
	for name, value := range want {
		if got, err := b.GetXattr(ctx, one, "user.ctxfs."+name); err != nil || string(got) != value {
			t.Errorf("%s: %q %v, want %q", name, got, err, value)
		}
		if !slices.Contains(names, "user.ctxfs."+name) {
			t.Errorf("%s is not listed in %q", name, names)
		}
	}
	b.mustSave(bob, one, valid)
	b.mustSave(bob, one, valid+"more\n")
	if got, err := b.GetXattr(ctx, one, "user.ctxfs.version"); err != nil || string(got) != "3" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := b.GetXattr(ctx, one, "user.ctxfs.links"); !errors.Is(err, syscall.ENODATA) {
		t.Error(err)
	}
}

func TestXattrsAreOfEntriesOnlyAndCannotBeSet(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.onDisk("alice/notes.txt", "---\ntype: finding\n---\n")
	b.onDisk(two, "not an entry")
	for _, path := range []string{"alice", "alice/notes.txt", two} {
		if names, err := b.ListXattr(ctx, path); err != nil || len(names) > 0 {
			t.Errorf("%s: %q %v", path, names, err)
		}
		if _, err := b.GetXattr(ctx, path, "user.ctxfs.type"); !errors.Is(err, syscall.ENODATA) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := b.ListXattr(ctx, "alice/20260221T143059-none.md"); !errors.Is(err, backing.ErrNotFound) {
		t.Error(err)
	}
	for attr, want := range map[string]syscall.Errno{"user.ctxfs.type": syscall.EPERM, "user.ctxfs.new": syscall.EPERM, "user.other": syscall.ENOTSUP} {
		if err := b.SetXattr(ctx, alice, one, attr, []byte("x")); !errors.Is(err, want) {
			t.Errorf("set %s: %v", attr, err)
		}
		if err := b.RemoveXattr(ctx, alice, one, attr); !errors.Is(err, want) {
			t.Errorf("remove %s: %v", attr, err)
		}
	}
	if _, err := b.GetXattr(ctx, one, "user.other"); !errors.Is(err, syscall.ENOTSUP) {
		t.Error(err)
	}
}
