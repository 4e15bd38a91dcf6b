package mcpserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"ctxfs/access"
	"ctxfs/operations"
)

const (
	// defaultBytes is how much of a content an answer holds where nobody says
	// how much, in bytes: some 10,000 tokens.
	defaultBytes = 40_000
	// maxBytes is the most that can be asked for at once.
	maxBytes = 1_000_000
	// defaultItems is how many items of a list an answer holds.
	defaultItems = 100
	// maxItems is the most that can be asked for at once.
	maxItems = 1000
)

// part is the part of a content that is asked for.
type part struct {
	Offset int64 `json:"offset,omitempty" jsonschema:"Where to begin, in bytes from the start. Leave it out at first; the note at the end of a cut answer says what to give."`
	Limit  int64 `json:"limit,omitempty" jsonschema:"How many bytes at most (default 40000, at most 1000000)."`
}

// items is the part of a list that is asked for.
type items struct {
	Offset int `json:"offset,omitempty" jsonschema:"How many items to skip. Leave it out at first."`
	Limit  int `json:"limit,omitempty" jsonschema:"How many items at most (default 100, at most 1000)."`
}

var errNegative = errors.New("offset and limit are 0 or more")

func (p part) bounds() (offset, limit int64, err error) {
	limit = p.Limit
	switch {
	case p.Offset < 0 || p.Limit < 0:
		return 0, 0, errNegative
	case limit == 0:
		limit = defaultBytes
	}
	return p.Offset, min(limit, maxBytes), nil
}

func (i items) bounds() (offset, limit int, err error) {
	limit = i.Limit
	switch {
	case i.Offset < 0 || i.Limit < 0:
		return 0, 0, errNegative
	case limit == 0:
		limit = defaultItems
	}
	return i.Offset, min(limit, maxItems), nil
}

// readPart reads the part of a file that is asked for.
func readPart(ctx context.Context, a *operations.Actor, path string, p part) (answer, error) {
	c, err := a.Open(ctx, path)
	if err != nil {
		return answer{}, err
	}
	return partOf(c, p)
}

// partOf reads the part of c that is asked for, and closes it.
func partOf(c access.File, p part) (ans answer, err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	offset, limit, err := p.bounds()
	if err != nil {
		return ans, err
	}
	size := c.Size()
	if offset > size {
		return ans, fmt.Errorf("offset %d is beyond the end: there are %d bytes", offset, size)
	}
	text, err := io.ReadAll(io.NewSectionReader(c, offset, min(limit, size-offset)))
	if err != nil {
		return ans, err
	}
	text = wholeRunes(text, offset+int64(len(text)) < size)
	end := offset + int64(len(text))
	ans.text = string(text)
	if !utf8.Valid(text) {
		ans.text, ans.note = base64.StdEncoding.EncodeToString(text), "[not UTF-8: the text above is base64] "
	}
	if offset > 0 || end < size {
		ans.note += fmt.Sprintf("[bytes %d to %d of %d", offset, end, size)
		if end < size {
			ans.note += fmt.Sprintf("; call again with offset=%d to read on", end)
		}
		ans.note += "]"
	}
	return ans, nil
}

// wholeRunes leaves out the beginning of a character at the end of a text that
// was cut there, where anything is left.
func wholeRunes(text []byte, cut bool) []byte {
	for n := 1; cut && n < utf8.UTFMax && n < len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// pageNote says what of a list is missing.
func pageNote(offset, shown, total int) string {
	switch {
	case offset+shown < total:
		return fmt.Sprintf("[items %d to %d of %d; call again with offset=%d to read on]", offset+1, offset+shown, total, offset+shown)
	case shown == 0 && total > 0:
		return fmt.Sprintf("[there are only %d items]", total)
	}
	return ""
}
