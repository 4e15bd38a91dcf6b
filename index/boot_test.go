package index

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
)

func TestIndexThatMayBeTornByAPowerCutIsMadeAnew(t *testing.T) {
	for name, c := range map[string]struct {
		mark  string
		makes bool // anew
	}{
		"the process was killed": {bootID(), false},
		"the machine went down":  {"another boot", true},
		"while it was marked":    {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.save(at(1, "x"), "tags: [a]\n", "text")
			b.settled()
			if text, err := os.ReadFile(b.file() + markSuffix); err != nil || string(text) != bootID() {
				t.Errorf("marked %q while it is written to, %v", text, err)
			}
			b = b.reopen(func() {
				if _, err := os.Lstat(b.file() + markSuffix); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("still marked when it is closed: %v", err)
				}
				// What tells a new index from the old one.
				db, _, err := tryWriter(ctx, b.file())
				b.ok(err)
				_, err = db.Exec("DELETE FROM facet")
				b.ok(errors.Join(err, db.Close()))
				b.ok(os.WriteFile(b.file()+markSuffix, []byte(c.mark), 0o600))
			})
			b.wants(Query{Words: "text"}, at(1, "x"))
			tags, err := b.Values(ctx, ByTag, "", 10)
			b.ok(err)
			if made := slices.Equal(tags, []string{"a"}); made != c.makes {
				t.Errorf("made anew: %v, tags %q", made, tags)
			}
		})
	}
}
