package live

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// kept are the files that may lie in a store that is not served, besides
// entries and their versions.
var kept = []*regexp.Regexp{
	regexp.MustCompile(`^vars/(global/(hot\d|stream)|agent:(w\d+r\d+|late)/(promoted|v\d))$`),
	regexp.MustCompile(`^memories/hot/(context\.md|context\.json|entries\.jsonl)$`),
	regexp.MustCompile(`^invocations/context\.jsonl$`),
	regexp.MustCompile(`^\.ctxfs/(layout|lock|index\.sqlite(-\w+)?|log/[^/]*|vars/[^/]*\.jsonl)$`),
}

// interrupted are what processes leave that could not finish: ordinary files
// that were to be renamed onto entries, and drafts that were refused.
var interrupted = regexp.MustCompile(`\.md(\.tmp\.[^/]*|\.rej)$`)

// litter checks that the store, which is not served, has no file more than
// what was written comes to, and those that match extra: nothing staged or
// spilled, and of each entry as many versions as it was overwritten.
func (d *done) litter(store string, extra ...*regexp.Regexp) (files int, err error) {
	var errs []error
	err = filepath.WalkDir(store, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		name, err := filepath.Rel(store, path)
		if err == nil && !d.wanted(name, append(extra, kept...)) {
			errs = append(errs, fmt.Errorf("%s is left in the store", name))
		}
		return err
	})
	return files, errors.Join(append(errs, err)...)
}

// wanted reports whether a file of that name is to be there, as others are.
func (d *done) wanted(name string, others []*regexp.Regexp) bool {
	for _, k := range others {
		if k.MatchString(name) {
			return true
		}
	}
	saves := func(path string) int { return len(d.Acked[path]) + len(d.Tried[path]) }
	if of, version := strings.CutPrefix(name, ".ctxfs/versions/"); version {
		n, err := strconv.Atoi(filepath.Base(of))
		return err == nil && n < saves(filepath.Dir(of))
	}
	return filepath.Ext(name) == ".md" && saves(name) > 0
}
