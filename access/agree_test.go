package access

import (
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/backing/localdir"
)

func TestACopyWhoseCheckFindsSomethingElseIsNone(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, dir := range []string{from, to} {
		onDisk(t, filepath.Join(dir, "alice/20260221T143022-x.md"), "bad")
		onDisk(t, filepath.Join(dir, "results/s1-t-aa.json"), dir)
	}
	check := func() (c Copied, err error) {
		src, err := localdir.Open(from, localdir.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		dst, err := localdir.Open(to, localdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		part := partsOf(Directory(from), Directory(to))
		err = agree(t.Context(), Directory(from), Directory(to), src, dst, &c, func(path string) bool { return !inParts(part, path) }, CopyOptions{})
		for _, s := range []*localdir.Store{src, dst} {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		return c, err
	}
	if c, err := check(); err != nil || c.Problems != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	onDisk(t, filepath.Join(to, "alice/20260221T143022-x.md"), "---\n---\n")
	if _, err := check(); err == nil || !strings.Contains(err.Error(), "not the same ones") {
		t.Errorf("another problem of the same file: %v", err)
	}
}
