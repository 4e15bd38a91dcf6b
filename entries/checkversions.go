package entries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// checkVersions reads the versions of the entry at p, and sees that none is
// missing between others and that no line of a changelog has been lost since.
func (e *Entries) checkVersions(ctx context.Context, p place, all []backing.Version, content []byte, report func(Problem)) error {
	later, next := changes(content), "the entry itself"
	for i := len(all) - 1; i >= 0; i-- {
		v := all[i]
		at := fmt.Sprintf("%s/versions/%s/%d", backing.Own, p.path, v.N)
		if i > 0 && all[i-1].N != v.N-1 { // the oldest ones may have been cleared away
			report(Problem{Path: p.path, Field: "versions", Warning: true,
				Reason: "of its versions " + span(all[i-1].N+1, v.N-1) + " missing",
				Fix:    "bring it back from a copy of the store, below " + backing.Own + "/versions/" + p.path})
		}
		text, err := e.readVersion(ctx, p, v.N)
		if errors.Is(err, backing.ErrNotFound) {
			continue // taken away since the listing
		}
		if err != nil {
			report(room.ProblemOf(at, 0, err))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		lines := changes(text)
		if lost := missingLine(lines, later); lost != "" {
			report(Problem{Path: p.path, Field: "changelog", Warning: true,
				Reason: fmt.Sprintf("a line of version %d is not in %s: %.80q", v.N, next, lost),
				Fix:    "add the line again"})
		}
		later, next = lines, fmt.Sprintf("version %d", v.N)
	}
	return nil
}

func span(from, to int) string {
	if from == to {
		return fmt.Sprintf("number %d is", from)
	}
	return fmt.Sprintf("numbers %d to %d are", from, to)
}

func (e *Entries) readVersion(ctx context.Context, p place, n int) ([]byte, error) {
	c, err := e.store.OpenVersion(ctx, p.key(), n)
	if err != nil {
		return nil, err
	}
	text := make([]byte, c.Size())
	_, err = io.ReadFull(io.NewSectionReader(c, 0, c.Size()), text)
	return text, errors.Join(err, c.Close())
}

// changes are the lines of a changelog that say when and by whom.
func changes(content []byte) []string {
	var all []string
	for _, line := range codec.ChangelogLines(content) {
		if line = strings.TrimRight(line, " \t\r"); strings.HasPrefix(line, "- ") {
			all = append(all, line)
		}
	}
	return all
}

// missingLine is the first of lines that later has not as often; "" where it
// has all.
func missingLine(lines, later []string) string {
	there := map[string]int{}
	for _, line := range later {
		there[line]++
	}
	for _, line := range lines {
		if there[line]--; there[line] < 0 {
			return line
		}
	}
	return ""
}
