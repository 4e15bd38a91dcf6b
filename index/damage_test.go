package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestIndexCutAnywhereIsMadeAnew(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "x"), "tags: [a]\n", "text")
	b.settled()
	for i := range 12 {
		b = b.reopen(func() {
			info, err := os.Stat(b.file())
			b.ok(err)
			size := []int64{1, 16, 99, 100, 4095, 4096, 4097, info.Size() / 2, info.Size() - 1, info.Size() - 4096}
			b.ok(os.Truncate(b.file(), size[i%len(size)]))
		})
		b.wants(Query{Words: "text", Tags: []string{"a"}}, at(1, "x"))
		b.wants(Query{Regex: "te.t"}, at(1, "x"))
	}
}

func TestIndexOfAnotherLayoutIsMadeAnew(t *testing.T) {
	for _, version := range []int{0, layout - 1, layout + 1} {
		b := newBench(t)
		b.save(at(1, "x"), "tags: [a]\n", "text")
		b.settled()
		b = b.reopen(func() {
			db, _, err := tryWriter(ctx, b.file())
			b.ok(err)
			_, err = db.Exec(fmt.Sprintf("DROP TABLE heads; PRAGMA user_version = %d", version))
			b.ok(errors.Join(err, db.Close()))
		})
		b.wants(Query{Tags: []string{"a"}}, at(1, "x"))
	}
}

func TestPagesSpoiltWhileInUseAreMadeAnew(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "x"), "tags: [a]\n", "text")
	b.settled()
	b = b.reopen(func() {
		overwriteFrom(b, b.file(), 3*4096) // entry, and where the file begins, stay readable
	})
	b.until("it is found again", func() bool {
		hits, err := b.Search(ctx, Query{Words: "text"})
		return err == nil && len(hits) == 1
	})
}

func TestPlaceThatCannotBeWrittenIsSaidAndHindersNobody(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "x"), "tags: []\n", "text")
	b.settled()
	// Where the index would have to be there is a directory that is not empty.
	b.ok(b.Index.Close())
	b.ok(removeFile(b.file()))
	b.ok(os.MkdirAll(filepath.Join(b.file(), "in the way"), 0o755))
	b.Index = Open(b.file(), b.room, Options{Log: b.log})
	b.until("it says why", func() bool { return b.Status(ctx).Error != "" })
	if _, err := b.Search(ctx, Query{Words: "text"}); err == nil {
		t.Error("a search without an index says nothing of it")
	}
	b.save(at(2, "y"), "tags: []\n", "more")
	b.ok(os.RemoveAll(b.file()))
	b.until("it is there again", func() bool { s := b.Status(ctx); return s.Error == "" && s.Entries == 2 })
	b.wants(Query{Words: "more"}, at(2, "y"))
	if info, err := os.Stat(b.file()); errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		t.Errorf("%v", err)
	}
}
