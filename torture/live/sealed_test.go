package live

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// sealed is text that carries its own name, length and checksum, and in each
// line the name again, so that what was torn shows where.
func sealed(r *rand.Rand, id string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%s %d %016x%016x\n", id, i, r.Uint64(), r.Uint64())
	}
	return fmt.Sprintf("sealed %s %d %x\n%send of %s\n", id, b.Len(), sha256.Sum256([]byte(b.String())), b.String(), id)
}

// unseal checks the sealed text in b, and returns its name and what stands
// after it.
func unseal(b []byte) (id string, after []byte, err error) {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	var size int
	var sum []byte
	if _, err := fmt.Sscanf(string(line), "sealed %s %d %x", &id, &size, &sum); err != nil {
		return "", nil, fmt.Errorf("it begins with %.80q: %w", line, err)
	}
	end := fmt.Sprintf("end of %s\n", id)
	if len(rest) < size+len(end) {
		return id, nil, fmt.Errorf("%s is %d bytes short, and ends with %.80q", id, size+len(end)-len(rest), b[max(0, len(b)-80):])
	}
	text, after := rest[:size], rest[size:]
	if got := sha256.Sum256(text); !bytes.Equal(got[:], sum) {
		return id, nil, fmt.Errorf("%s is torn: %s", id, foreign(id, text))
	}
	if !bytes.HasPrefix(after, []byte(end)) {
		return id, nil, fmt.Errorf("after %s stands %.80q", id, after)
	}
	return id, after[len(end):], nil
}

// foreign is the first line of text that is not of id.
func foreign(id string, text []byte) string {
	n := 0
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, fmt.Appendf(nil, "%s %d ", id, n)) {
			return fmt.Sprintf("line %d is %.80q", n, line)
		}
		n++
	}
	return "its lines are its own"
}

const front = "---\ntype: finding\ntags: [%s]\ntimestamp: 2026-02-22T10:00:00Z\n---\n\n%s"

// entryText is an entry with sealed text. With line it brings its own line of
// the changelog.
func entryText(r *rand.Rand, agent, id string, size int, line bool) string {
	text := fmt.Sprintf(front, id, sealed(r, id, size))
	if line {
		text += fmt.Sprintf("\n## Changelog\n\n- 2026-02-22T10:00:00Z [%s]: save %s\n", agent, id)
	}
	return text
}

// checkEntry checks that all parts of an entry are of one save, and returns
// its name and how many lines its changelog has.
func checkEntry(b []byte) (id string, lines []string, err error) {
	head, rest, ok := bytes.Cut(b, []byte("---\n\n"))
	if !ok {
		return "", nil, fmt.Errorf("no frontmatter in %.200q", b)
	}
	id, after, err := unseal(rest)
	if err != nil {
		return id, nil, err
	}
	if !bytes.Contains(head, []byte("\ntags: ["+id+"]\n")) {
		return id, nil, fmt.Errorf("the frontmatter of %s is %q", id, head)
	}
	notes, log, found := bytes.Cut(after, []byte("## Changelog\n"))
	for note := range strings.Lines(string(notes)) {
		if note != "\n" && !strings.HasPrefix(note, "note ") {
			return id, nil, fmt.Errorf("%s is followed by %q", id, note)
		}
	}
	if !found {
		return id, nil, nil
	}
	for line := range strings.Lines(string(log)) {
		switch {
		case strings.HasPrefix(line, "- 20") && strings.HasSuffix(line, "\n"):
			lines = append(lines, line)
		case line != "\n":
			return id, nil, fmt.Errorf("in the changelog of %s stands %q", id, line)
		}
	}
	if len(lines) == 0 {
		return id, nil, errors.New("the changelog is empty")
	}
	last := lines[len(lines)-1]
	if strings.Contains(last, "]: save ") && !strings.Contains(last, "]: save "+id) {
		return id, nil, fmt.Errorf("the last line of the changelog of %s is %q", id, last)
	}
	return id, lines, nil
}

// checkSealed checks content that is sealed text and nothing else.
func checkSealed(b []byte) error {
	id, after, err := unseal(b)
	if err == nil && len(after) > 0 {
		err = fmt.Errorf("%s is followed by %.80q", id, after)
	}
	return err
}
