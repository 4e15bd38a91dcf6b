package live

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// check looks at what is there against what was acknowledged, at several
// objects at once, since most of it is to wait for the daemon.
func check(t *testing.T, mount string, all done) (tried, held int) {
	t.Helper()
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(all.Acked)), private)
	wrong := make([]error, len(paths))
	var next atomic.Int64
	var checking sync.WaitGroup
	for range 8 {
		checking.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(paths); i = int(next.Add(1)) - 1 {
				wrong[i] = all.object(mount, paths[i])
			}
		})
	}
	checking.Wait()
	for i, path := range paths {
		if wrong[i] != nil {
			t.Errorf("%s: %v", path, wrong[i])
		} else {
			held++
		}
	}
	return len(paths), held
}

// private reports whether path is a variable that only its writer sees, or
// that ends with its session.
func private(path string) bool {
	return strings.HasPrefix(path, "vars/") && filepath.Dir(path) != "vars/global"
}

// object checks what was written to path.
func (d *done) object(mount, path string) error {
	dir := filepath.Dir(path)
	switch {
	case filepath.Ext(path) == ".md" && dir != memory:
		return d.entry(mount, path)
	case path == stream || path == history || filepath.Ext(path) == ".jsonl":
		return d.lines(mount, path)
	}
	b, err := os.ReadFile(filepath.Join(mount, path))
	if err != nil {
		return err
	}
	return checkSealed(b)
}

var ids = regexp.MustCompile(`(?:first|w\d+r\d+)-\d+`)

// lines checks that a file of lines has each acknowledged one once, and none
// that nobody wrote.
func (d *done) lines(mount, path string) error {
	b, err := os.ReadFile(filepath.Join(mount, path))
	if err != nil {
		return err
	}
	count := map[string]int{}
	for line := range bytes.Lines(b) {
		found := ids.FindAll(withoutContext(line), -1)
		if len(found) != 1 || line[len(line)-1] != '\n' {
			return fmt.Errorf("a line is %.300q", line)
		}
		count[string(found[0])]++
	}
	return once(count, d.Acked[path], d.Tried[path])
}

// withoutContext is a memory's entry without the context that it carries,
// which names the one that wrote that.
func withoutContext(line []byte) []byte {
	before, _, _ := bytes.Cut(line, []byte(`"context":`))
	return before
}
