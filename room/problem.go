package room

import (
	"context"
	"errors"

	"ctxfs/codec"
)

// Problem is something that the check of a room found.
type Problem struct {
	Path        string // from the store's root
	Line        int    // 1-based, 0 where none applies
	Field       string // "" where none
	Reason, Fix string
	// Warning: nothing invalid. A link whose target may come later, a field
	// that the next save fills in, a refused draft that waits.
	Warning bool
	// Leftover: what a crash left and the next start clears away. While a
	// daemon runs it is in use and no problem at all.
	Leftover bool
	// Mend mends it without losing anything, and says what it did; nil where
	// only a person can. For a store that this process writes.
	Mend func(ctx context.Context) (did string, err error)
}

// ProblemOf is the problem that err names, by its *codec.Refusal; any other
// error is that of a file which cannot be read.
func ProblemOf(path string, line int, err error) Problem {
	var r *codec.Refusal
	if !errors.As(err, &r) {
		return Problem{Path: path, Line: line, Reason: "it cannot be read: " + err.Error(),
			Fix: "see that the disk works; bring it back from a copy of the store"}
	}
	if line == 0 {
		line = r.Line
	}
	return Problem{Path: path, Line: line, Field: r.Field, Reason: r.Reason, Fix: r.Fix}
}
