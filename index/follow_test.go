package index

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// manyPath is the path of the i-th entry of makeMany.
func manyPath(i int) string {
	t := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
	return fmt.Sprintf("many/%s-n%05d.md", t.Format("20060102T150405"), i)
}

// makeMany writes n entries with a text.
func makeMany(dir string, n int, text string) error {
	if err := os.MkdirAll(filepath.Join(dir, "many"), 0o755); err != nil {
		return err
	}
	for i := range n {
		err := os.WriteFile(filepath.Join(dir, manyPath(i)), []byte(content("tags: []\n", fmt.Sprintf("%s n%05d", text, i))), 0o644)
		if err != nil {
			return err
		}
	}
	return nil
}

func TestCommitIsFoundByTheNextQuestion(t *testing.T) {
	b := newBench(t)
	for i := range 20 {
		text := fmt.Sprintf("round%d", i)
		b.save(at(1, "x"), fmt.Sprintf("tags: [t%d]\n", i), text)
		b.wants(Query{Words: text}, at(1, "x"))
		if i > 0 {
			b.wants(Query{Words: fmt.Sprintf("round%d", i-1)})
		}
		values, err := b.Values(ctx, ByTag, "", 10)
		b.ok(err)
		if !slices.Equal(values, []string{fmt.Sprintf("t%d", i)}) {
			t.Errorf("%q", values)
		}
	}
}

func TestEditsFromOutsideAreFollowed(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "x"), "tags: []\n", "first")
	follows := func(what string, q Query, want ...string) {
		t.Helper()
		b.until(what, func() bool { return slices.Equal(b.find(q), append([]string{}, want...)) })
	}
	b.outside(at(1, "x"), content("tags: []\n", "second"))
	follows("an edit", Query{Words: "second"}, at(1, "x"))
	b.outside("carol/s1/20260101T000000-y.md", content("tags: [new]\n", "third"))
	follows("new directories", Query{Words: "third"}, "carol/s1/20260101T000000-y.md")
	b.outside("carol/20260101T000000-bad.md", "no frontmatter, fourth")
	follows("what is not valid", Query{Words: "fourth"}, "carol/20260101T000000-bad.md")
	b.ok(os.Rename(filepath.Join(b.dir, "carol"), filepath.Join(b.dir, "dora")))
	follows("a renamed directory", Query{Words: "third"}, "dora/s1/20260101T000000-y.md")
	b.ok(os.RemoveAll(filepath.Join(b.dir, "dora")))
	follows("a removed directory", Query{Words: "third"})
	follows("what is left", Query{}, at(1, "x"))
}

func TestStartLooksOnlyAtWhatChanged(t *testing.T) {
	b := newBench(t)
	for i := range 5 {
		b.save(at(i, "x"), "tags: []\n", fmt.Sprintf("text%d", i))
	}
	b.settled()
	b = b.reopen(func() {
		b.outside(at(2, "x"), content("tags: []\n", "changed"))
		b.ok(os.Remove(filepath.Join(b.dir, at(3, "x"))))
		b.outside(at(9, "y"), content("tags: []\n", "added"))
		// A file that cannot be read would be noticed if it were read.
		b.ok(os.Chmod(filepath.Join(b.dir, at(4, "x")), 0))
	})
	b.wants(Query{Words: "changed"}, at(2, "x"))
	b.wants(Query{Words: "added"}, at(9, "y"))
	b.wants(Query{Words: "text3"})
	b.wants(Query{Words: "text2"})
}

func TestDamagedIndexIsMadeAnew(t *testing.T) {
	damage := map[string]func(b *bench){
		"removed":      func(b *bench) { b.ok(os.Remove(b.file())) },
		"cut":          func(b *bench) { b.ok(os.Truncate(b.file(), 5000)) },
		"empty":        func(b *bench) { b.ok(os.Truncate(b.file(), 0)) },
		"no database":  func(b *bench) { b.ok(os.WriteFile(b.file(), []byte(strings.Repeat("junk", 5000)), 0o644)) },
		"a link":       func(b *bench) { b.ok(os.Remove(b.file())); b.ok(os.Symlink("/etc/passwd", b.file())) },
		"overwritten":  func(b *bench) { overwrite(b, b.file()) },
		"a stale -wal": func(b *bench) { b.ok(os.WriteFile(b.file()+"-wal", []byte(strings.Repeat("junk", 5000)), 0o644)) },
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.save(at(1, "x"), "tags: [a]\n", "text")
			b.settled()
			b = b.reopen(func() { do(b) })
			b.wants(Query{Words: "text"}, at(1, "x"))
			b.save(at(2, "y"), "tags: [a]\n", "more text")
			b.wants(Query{Words: "more"}, at(2, "y"))
			b.wants(Query{Tags: []string{"a"}}, at(2, "y"), at(1, "x"))
		})
	}
}

// overwrite spoils the pages behind the first.
func overwrite(b *bench, path string) { overwriteFrom(b, path, 4096) }

func overwriteFrom(b *bench, path string, off int64) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	b.ok(err)
	defer f.Close()
	info, err := f.Stat()
	b.ok(err)
	for ; off < info.Size(); off += 512 {
		_, err := f.WriteAt([]byte(strings.Repeat("\xa5", 512)), off)
		b.ok(err)
	}
}

func TestIndexGivesWayAndIsFinishedAllTheSame(t *testing.T) {
	dir := t.TempDir()
	const n = 300
	if err := makeMany(dir, n, "text"); err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	b := openAskedBench(t, dir, func() int64 { return count.Add(1_000_000) })
	b.until("all are indexed", func() bool {
		s := b.Status(ctx)
		return !s.Building && s.Entries == n
	})
	if count.Load() == 0 {
		t.Error("the index never asked how busy the mount is")
	}
}

func TestDirectoryThatIsGoneLeavesTheIndex(t *testing.T) {
	b := newBench(t)
	b.outside("carol/s1/20260101T000000-y.md", content("tags: []\n", "one"))
	b.outside("carol/20260101T000000-x.md", content("tags: []\n", "two"))
	b.outside("dora/20260101T000000-z.md", content("tags: []\n", "three"))
	b.settled()
	b = b.reopen(func() { b.ok(os.RemoveAll(filepath.Join(b.dir, "carol"))) })
	b.until("the rest is left", func() bool { return slices.Equal(b.find(Query{}), []string{"dora/20260101T000000-z.md"}) })
	b.wants(Query{Words: "one"})
	b.wants(Query{Words: "two"})
}

func TestIndexRemovedWhileItIsInUseIsMadeAnew(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "x"), "tags: []\n", "text")
	b.wants(Query{Words: "text"}, at(1, "x"))
	b.ok(os.Remove(b.file()))
	b.until("it is there again", func() bool {
		s := b.Status(ctx)
		_, err := os.Stat(b.file())
		return err == nil && !s.Building && s.Entries == 1
	})
	b.wants(Query{Words: "text"}, at(1, "x"))
}

func TestReaderOfAnotherProcessSeesWhatWasCommitted(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "x"), "tags: []\n", "text")
	b.settled()
	r, err := OpenReader(ctx, b.file(), b.room)
	b.ok(err)
	defer func() { b.ok(r.Close()) }()
	b.save(at(2, "y"), "tags: []\n", "later")
	b.settled()
	hits, err := r.Search(ctx, Query{Words: "later"})
	b.ok(err)
	if len(hits) != 1 || hits[0].Path != at(2, "y") {
		t.Errorf("%+v", hits)
	}
	if _, err := OpenReader(ctx, b.file()+"-none", b.room); !IsDamaged(err) {
		t.Errorf("%v", err)
	}
}
