package entries

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
