package live

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// lineage is what the versions of an entry say, oldest first. Of each one the
// changelog is only compared with the one before: it must be that, and one
// line more.
type lineage struct {
	log  []byte         // of the last one
	made map[string]int // how many of them each save made
}

// entry checks that an entry and each of its versions is whole, that each has
// come of the one before by one save, and that each acknowledged save made one.
func (d *done) entry(mount, path string) error {
	l := lineage{made: map[string]int{}}
	if err := l.versions(filepath.Join(mount, ".ctxfs/versions", path)); err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(mount, path))
	if err == nil {
		err = l.add(b)
	}
	if err != nil {
		return err
	}
	return once(l.made, d.Acked[path], d.Tried[path])
}

// versions goes through those in dir. All is opened from there: to look dir up
// again for each would take longer than to read them.
func (l *lineage) versions(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was never overwritten
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for n := 1; n <= len(list); n++ {
		b, err := root.ReadFile(strconv.Itoa(n))
		if err == nil {
			err = l.add(b)
		}
		if err != nil {
			return fmt.Errorf("version %d of %d: %w", n, len(list), err)
		}
	}
	return nil
}

// add adds the next one.
func (l *lineage) add(b []byte) error {
	s, err := savedIn(b)
	if err != nil {
		return err
	}
	line, ok := bytes.CutPrefix(s.log, l.log)
	if !ok {
		return fmt.Errorf("the changelog of %s does not go on from the one before: it has %d bytes, after %d", s.id, len(s.log), len(l.log))
	}
	if err := s.checkLine(line); err != nil {
		return err
	}
	l.log = s.log
	l.made[s.id]++
	return nil
}

// once checks that each of acked is there once, each of tried at most once,
// and nothing else.
func once(there map[string]int, acked, tried []string) error {
	for _, id := range acked {
		if there[id] != 1 {
			return fmt.Errorf("%s was acknowledged, and is there %d times", id, there[id])
		}
		delete(there, id)
	}
	for _, id := range tried {
		if there[id] > 1 {
			return fmt.Errorf("%s is there %d times", id, there[id])
		}
		delete(there, id)
	}
	if len(there) > 0 {
		return fmt.Errorf("nobody wrote %v", there)
	}
	return nil
}
