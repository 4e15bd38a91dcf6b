package memories

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
)

// tailBytes is how much of the end of entries.jsonl is searched first for
// lines that a crash may have kept from it.
const tailBytes = 1 << 20

// missing returns those of lines that the file at key has not. Nearly always
// they are at its end; only where one is not there the whole file is read.
func (s *Memories) missing(ctx context.Context, key backing.Key, lines [][]byte) (missing [][]byte, err error) {
	c, err := s.store.Open(ctx, key, "")
	if errors.Is(err, backing.ErrNotFound) {
		return lines, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for entries: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	from := max(0, c.Size()-tailBytes)
	missing, err = notIn(io.NewSectionReader(c, from, c.Size()-from), lines)
	if err != nil || len(missing) == 0 || from == 0 {
		return missing, err
	}
	return notIn(io.NewSectionReader(c, 0, c.Size()), missing)
}

// notIn returns those of lines that r has not, in one pass.
func notIn(r io.Reader, lines [][]byte) ([][]byte, error) {
	want := map[string]bool{}
	for _, line := range lines {
		want[string(line)] = true
	}
	in := bufio.NewReaderSize(r, 64<<10)
	for len(want) > 0 {
		line, err := in.ReadBytes('\n')
		delete(want, string(line))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("look for entries: %w", err)
		}
	}
	var missing [][]byte
	for _, line := range lines {
		if want[string(line)] {
			missing = append(missing, bytes.Clone(line))
		}
	}
	return missing, nil
}
