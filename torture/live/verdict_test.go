package live

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// entry checks that an entry is whole, has a line in its changelog for each
// save, and each of its versions is there, whole.
func (d *done) entry(mount, path string) error {
	acked, tried := len(d.Acked[path]), len(d.Tried[path])
	b, err := os.ReadFile(filepath.Join(mount, path))
	if err != nil {
		return err
	}
	_, lines, err := checkEntry(b)
	if err != nil {
		return err
	}
	if len(lines) < acked || len(lines) > acked+tried {
		return fmt.Errorf("its changelog has %d lines, for %d acknowledged and %d other saves", len(lines), acked, tried)
	}
	versions := filepath.Join(mount, ".ctxfs/versions", path)
	list, err := os.ReadDir(versions)
	if err != nil {
		if acked+tried == 1 && errors.Is(err, os.ErrNotExist) {
			return nil // never overwritten
		}
		return err
	}
	if len(list) < acked-1 || len(list) > acked+tried-1 {
		return fmt.Errorf("it has %d versions, for %d acknowledged and %d other saves", len(list), acked, tried)
	}
	for i := range list {
		b, err := os.ReadFile(filepath.Join(versions, strconv.Itoa(i+1)))
		if err != nil {
			return err
		}
		if _, _, err := checkEntry(b); err != nil {
			return fmt.Errorf("version %d: %w", i+1, err)
		}
	}
	return nil
}

var ids = regexp.MustCompile(`(?:first|w\d+r\d+)-\d+`)

// lines checks that a file of lines has each acknowledged one once, and none
// that nobody wrote.
func (d *done) lines(mount, path string, acked []string) error {
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
	for _, id := range acked {
		if count[id] != 1 {
			return fmt.Errorf("%s was acknowledged, and is there %d times", id, count[id])
		}
		delete(count, id)
	}
	for _, id := range d.Tried[path] {
		delete(count, id)
	}
	if len(count) > 0 {
		return fmt.Errorf("nobody wrote %v", count)
	}
	return nil
}

// withoutContext is a memory's entry without the context that it carries,
// which names the one that wrote that.
func withoutContext(line []byte) []byte {
	before, _, _ := bytes.Cut(line, []byte(`"context":`))
	return before
}
