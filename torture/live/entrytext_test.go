package live

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

const front = "---\ntype: finding\ntags: [%s]\ntimestamp: 2026-02-22T10:00:00Z\n---\n\n%s"

// entryText is an entry with sealed text. With line it brings its own line of
// the changelog, at a time that no other line of this agent has: one with the
// time of a line that is there would be an edit of that.
func (w *worker) entryText(id string, line bool) string {
	text := fmt.Sprintf(front, id, sealed(w.rand, id, w.size()))
	if line {
		at := time.Date(2026, 2, 22, 10, 0, w.serial, 0, time.UTC)
		text += fmt.Sprintf("\n## Changelog\n\n- %s [%s]: save %s\n", at.Format(time.RFC3339), w.agent, id)
	}
	return text
}

// save is what a save left of an entry.
type save struct {
	id  string // of the text, or of the note that was appended to it last
	log []byte // the lines of the changelog
}

// savedIn checks that all parts of an entry but its changelog are of one save.
func savedIn(b []byte) (s save, err error) {
	head, rest, ok := bytes.Cut(b, []byte("---\n\n"))
	if !ok {
		return s, fmt.Errorf("no frontmatter in %.200q", b)
	}
	id, after, err := unseal(rest)
	if err != nil {
		return s, err
	}
	if !bytes.Contains(head, []byte("\ntags: ["+id+"]\n")) {
		return s, fmt.Errorf("the frontmatter of %s is %q", id, head)
	}
	s.id = id
	notes, log, _ := bytes.Cut(after, []byte("## Changelog\n\n"))
	for line := range strings.Lines(string(notes)) {
		note, ok := strings.CutPrefix(line, "note ")
		if ok {
			s.id = strings.TrimSuffix(note, "\n")
		} else if line != "\n" {
			return s, fmt.Errorf("%s is followed by %q", id, line)
		}
	}
	if len(log) == 0 {
		return s, errors.New("the changelog is empty")
	}
	s.log = log
	return s, nil
}

// checkEntry checks that an entry is whole, and the last line of its changelog
// that of its save.
func checkEntry(b []byte) error {
	s, err := savedIn(b)
	if err != nil {
		return err
	}
	last := 0
	for line := range bytes.Lines(s.log) {
		if !bytes.HasPrefix(line, []byte("- 20")) {
			return fmt.Errorf("in the changelog of %s stands %q", s.id, line)
		}
		last = len(line)
	}
	return s.checkLine(s.log[len(s.log)-last:])
}

// late is what a daemon calls a process whose environment it could not read
// within a second. On a busy machine that happens.
const late = "late"

// checkLine checks that line is the one that the save has added.
func (s save) checkLine(line []byte) error {
	agent, _, _ := strings.Cut(s.id, "-")
	stamp, text, ok := strings.Cut(string(line), " ["+agent+"]: ")
	if !ok {
		stamp, text, ok = strings.Cut(string(line), " ["+late+"]: ")
	}
	if !ok || strings.Contains(stamp, "\n") || strings.Index(text, "\n") != len(text)-1 {
		return fmt.Errorf("%s added to the changelog: %q", s.id, line)
	}
	if strings.HasPrefix(text, "save ") && text != "save "+s.id+"\n" {
		return fmt.Errorf("%s added the line of another save: %q", s.id, line)
	}
	return nil
}
