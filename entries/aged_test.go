package entries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
)

var month = codec.Retentions{Default: codec.DefaultRetention}

// aged puts a file into the store's directory that was last changed so many
// days before the clock's time. fields go into the frontmatter of an entry.
func (b *bench) aged(path string, days int, fields string) {
	b.t.Helper()
	text := "an ordinary file\n"
	if codec.IsEntry(filepath.Base(path)) {
		text = "---\nagent: " + strings.Split(path, "/")[0] + "\ntimestamp: 2025-06-01T00:00:00Z\ntype: finding\ntags: []\n" + fields + "---\n# Title\n"
	}
	b.onDisk(path, text)
	b.age(path, days)
}

func (b *bench) age(path string, days int) {
	b.t.Helper()
	t := b.at().Add(-time.Duration(days) * 24 * time.Hour)
	b.ok(os.Chtimes(filepath.Join(b.dir, path), t, t))
}

// findAged is what Aged says, one a line.
func (b *bench) findAged(o AgedOptions) string {
	b.t.Helper()
	all, err := b.Aged(ctx, o)
	b.ok(err)
	var s strings.Builder
	for _, a := range all {
		word := "goes "
		if a.Keep {
			word = "stays"
		}
		fmt.Fprintf(&s, "%s %s %s", word, a.Kind, a.Path())
		for _, v := range a.Versions {
			fmt.Fprintf(&s, " #%d", v.N)
		}
		s.WriteString(": " + a.Why + "\n")
	}
	return s.String()
}

func (b *bench) wantAged(o AgedOptions, want string) {
	b.t.Helper()
	if got := b.findAged(o); got != want {
		b.t.Errorf("it says\n%swant\n%s", got, want)
	}
}

func TestWhatIsOldGoesUnlessSomethingThatStaysNeedsIt(t *testing.T) {
	b := newBench(t)
	name := func(slug string) string { return "alice/20250601T000000-" + slug + ".md" }
	b.aged(name("alone"), 31, "")
	b.aged(name("chain-1"), 40, "links: ["+name("chain-2")+"]\n")
	b.aged(name("chain-2"), 40, "links: ["+name("chain-1")+", "+name("gone")+"]\n")
	b.aged(name("dead"), 40, "links: ["+name("alone")+"]\n")
	b.aged(name("replaced"), 40, "")
	b.aged(name("young"), 29, "")
	b.aged("alice/s1/20250601T000000-x.md", 31, "")
	b.aged("bob/20250601T000000-linking.md", 1, "links: [../alice/20250601T000000-chain-1.md, \"https://example.org\"]\n")
	b.aged("bob/20250601T000000-newer.md", 1, "links: ["+name("replaced")+"]\nsupersedes: ["+name("replaced")+"]\n")
	b.onDisk(name("broken"), "---\ntype: [\n---\n")
	b.age(name("broken"), 40)
	b.wantAged(AgedOptions{Keep: month}, `goes  entry alice/20250601T000000-alone.md: last changed 2026-01-22, kept for 30d
stays entry alice/20250601T000000-broken.md: its frontmatter cannot be read, `+"`ctxfs check`"+` says why
stays entry alice/20250601T000000-chain-1.md: linked from bob/20250601T000000-linking.md, which stays
stays entry alice/20250601T000000-chain-2.md: linked from alice/20250601T000000-chain-1.md, which stays
goes  entry alice/20250601T000000-dead.md: last changed 2026-01-13, kept for 30d
stays entry alice/20250601T000000-replaced.md: superseded by bob/20250601T000000-newer.md, which stays
goes  entry alice/s1/20250601T000000-x.md: last changed 2026-01-22, kept for 30d
`)
}

func TestAnEntryIsAsOldAsItsLastChange(t *testing.T) {
	b := newBench(t)
	b.aged(one, 60, "")
	text := strings.Replace(valid, "2026-02-21T14:30:22Z", "2026-02-20T00:00:00Z", 1)
	b.onDisk(two, text)
	b.age(two, 60)
	b.aged("alice/20260221T143024-imported.md", 0, "")
	b.wantAged(AgedOptions{Keep: month}, "goes  entry "+one+": last changed 2025-12-24, kept for 30d\n")
}

func TestEachAgentHasItsRetention(t *testing.T) {
	b := newBench(t)
	for _, agent := range []string{"alice", "bob", "carol"} {
		b.aged(agent+"/20250601T000000-x.md", 20, "")
		b.aged(agent+"/20250601T000001-old.md", 400, "")
	}
	keep := codec.Retentions{Default: codec.DefaultRetention, Agents: map[string]codec.Retention{
		"bob": codec.Forever, "carol": codec.Retention(14 * 24 * time.Hour)}}
	b.wantAged(AgedOptions{Keep: keep}, `goes  entry alice/20250601T000001-old.md: last changed 2025-06-01, kept for 30d
goes  entry carol/20250601T000000-x.md: last changed 2026-02-02, kept for 14d
goes  entry carol/20250601T000001-old.md: last changed 2025-06-01, kept for 14d
`)
	b.wantAged(AgedOptions{Keep: keep, Agent: "alice"}, "goes  entry alice/20250601T000001-old.md: last changed 2025-06-01, kept for 30d\n")
}

func TestWhatAnotherAgentsEntryLinksToStaysWhoeverIsAskedFor(t *testing.T) {
	b := newBench(t)
	b.aged(one, 60, "")
	b.aged("bob/20250601T000000-x.md", 60, "links: ["+one+"]\n")
	b.wantAged(AgedOptions{Keep: month, Agent: "alice"}, "stays entry "+one+": linked from bob/20250601T000000-x.md, which stays\n")
}

func TestOldFilesThatAreNoEntriesGo(t *testing.T) {
	b := newBench(t)
	b.aged("alice/20250601T000000-young.md", 1, "links: [alice/linked.png]\nnote: see plan.txt\n")
	for _, name := range []string{"alice/plan.txt", "alice/s1/plan.txt", "bob/plan.txt", "alice/linked.png", "alice/20250601T000000-x.md.rej", "alice/.x.swp"} {
		b.aged(name, 31, "")
	}
	b.aged("alice/young.txt", 29, "")
	b.ok(os.Symlink("nowhere", filepath.Join(b.dir, "alice/.#lock")))
	b.onDisk("README.md", "the user's own")
	b.age("README.md", 100)
	b.wantAged(AgedOptions{Keep: month}, `goes  scratch alice/.x.swp: not touched since 2026-01-22, kept for 30d
goes  scratch alice/20250601T000000-x.md.rej: not touched since 2026-01-22, kept for 30d
stays scratch alice/linked.png: linked from alice/20250601T000000-young.md, which stays
stays scratch alice/plan.txt: named in alice/20250601T000000-young.md, which stays
stays scratch alice/s1/plan.txt: named in alice/20250601T000000-young.md, which stays
goes  scratch bob/plan.txt: not touched since 2026-01-22, kept for 30d
`)
}

// rounds saves one so often, and lets the versions be replaced these days ago.
func (b *bench) rounds(days ...int) {
	b.t.Helper()
	for n := range len(days) + 1 {
		b.mustSave(alice, one, valid+strings.Repeat("\nmore", n)+"\n")
	}
	for n, d := range days {
		path := filepath.Join(".ctxfs/versions", one, fmt.Sprint(n+2))
		if n+1 == len(days) {
			path = one
		}
		b.age(path, d)
	}
}

func TestOldVersionsGoButTheNewest(t *testing.T) {
	b := newBench(t)
	b.rounds(50, 40, 20, 10)
	b.wantAged(AgedOptions{Keep: month}, "goes  versions "+one+" #1 #2: replaced 2026-01-13 or before, kept for 30d\n")
	b.pass(90 * 24 * time.Hour)
	b.aged("bob/20250601T000000-x.md", 1, "links: ["+one+"]\n")
	b.wantAged(AgedOptions{Keep: month}, "stays entry "+one+": linked from bob/20250601T000000-x.md, which stays\n"+
		"goes  versions "+one+" #1 #2 #3: replaced 2026-02-02 or before, kept for 30d\n")
}

func TestAnEntryGoesWithAllItsVersions(t *testing.T) {
	b := newBench(t)
	b.rounds(70, 60)
	b.wantAged(AgedOptions{Keep: codec.Retentions{}}, "goes  entry "+one+" #1 #2: last changed 2026-02-21, kept for 0s\n")
}

func TestAnEntryThatIsBeingWrittenStays(t *testing.T) {
	b := newBench(t)
	b.aged(one, 60, "")
	d := b.draft(alice, one, false)
	b.wantAged(AgedOptions{Keep: month}, "stays entry "+one+": it is being written\n")
	b.ok(d.Close())
	b.wantAged(AgedOptions{Keep: month}, "goes  entry "+one+": last changed 2025-12-24, kept for 30d\n")
}

func TestDiscardRemovesWhatWasFoundAndNothingElse(t *testing.T) {
	b := newBench(t)
	b.aged(one, 60, "")
	b.aged(two, 60, "")
	b.aged("alice/s1/20250601T000000-x.md", 60, "")
	b.aged("alice/s2/20250601T000000-x.md", 60, "")
	b.aged("alice/s2/young.txt", 1, "")
	b.aged("alice/s3/20250601T000000-x.md", 60, "")
	if _, _, err := b.addPending(ctx, alice, place{path: "alice/s3/20260222T100000-y.md", dir: "alice/s3", name: "20260222T100000-y.md"}, 0o644, false); err != nil {
		t.Fatal(err)
	}
	all, err := b.Aged(ctx, AgedOptions{Keep: month})
	b.ok(err)
	b.aged(two, 0, "note: changed meanwhile\n")
	for i, err := range b.Discard(ctx, all) {
		if all[i].Path() == two && !errors.Is(err, backing.ErrConflict) || all[i].Path() != two && err != nil {
			t.Errorf("%s: %v", all[i].Path(), err)
		}
	}
	b.wantGone(one)
	b.wantGone("alice/s1")
	if got := b.names("alice"); strings.Join(got, " ") != "20260221T143023-two.md s2 s3" {
		t.Errorf("what is left of alice: %v", got)
	}
	if got := b.names("alice/s2"); strings.Join(got, " ") != "young.txt" {
		t.Errorf("what is left of s2: %v", got)
	}
}

func TestWhatIsPutBackReplacesNothing(t *testing.T) {
	b := newBench(t)
	back := func(path string) error {
		return b.PutBack(ctx, Putback{Path: path, Mode: 0o640, DirMode: 0o750}, strings.NewReader("as it was"))
	}
	b.ok(back("carol/s9/20250601T000000-x.md"))
	b.want("carol/s9/20250601T000000-x.md", "as it was")
	info, err := b.Stat(ctx, "carol/s9/20250601T000000-x.md")
	b.ok(err)
	dir, err := b.Stat(ctx, "carol/s9")
	b.ok(err)
	if info.Mode != 0o640 || dir.Mode != 0o750 {
		t.Errorf("the modes are %v, %v", info.Mode, dir.Mode)
	}
	if _, _, err := b.addPending(ctx, alice, place{path: one, dir: "alice", name: one[len("alice/"):]}, 0o644, false); err != nil {
		t.Fatal(err)
	}
	for path, errno := range map[string]syscall.Errno{
		"carol/s9/20250601T000000-x.md": syscall.EEXIST, one: syscall.EEXIST,
		"vars/x.md": syscall.EINVAL, "alice/no-name.md": syscall.EINVAL, "alice/a/b/c": syscall.EINVAL, "x.md": syscall.EINVAL} {
		wantErrno(t, back(path), errno)
	}
}
