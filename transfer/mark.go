package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"ctxfs/backing"
)

// markKey is where the mark of an unfinished copy lies.
const markKey = backing.Own + "/copy"

// maxMark is more than a mark has, in bytes.
const maxMark = 64 << 10

// Mark says that a store is an unfinished copy.
type Mark struct {
	Source string    `json:"source"` // the name of the store that it is a copy of
	ID     string    `json:"id"`     // of the copy
	Since  time.Time `json:"since"`
}

// UnfinishedError says that a store is an unfinished copy.
type UnfinishedError struct {
	Store string // its name
	Mark
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the store %s is the unfinished copy of %s, begun at %s: `ctxfs copy` again, with both, goes on with it",
		e.Store, e.Source, e.Since.Format(time.RFC3339))
}

// ReadMark returns the mark of a store, nil where it has none.
func ReadMark(ctx context.Context, store backing.Store) (*Mark, error) {
	c, err := store.Open(ctx, markKey, "")
	if errors.Is(err, backing.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(c, 0, min(c.Size(), maxMark)))
	if err = errors.Join(err, c.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", markKey, err)
	}
	var m Mark
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s is not what a copy leaves there: %w", markKey, err)
	}
	return &m, nil
}

// ErrSame is why a store cannot be copied: source and destination are one.
var ErrSame = errors.New("source and destination are the same store")

// Begin marks dst, which must be empty, as a copy of src, whose name is
// source; or it finds that it is marked so already. part is that of [Options].
// *OccupiedError where dst has anything else, *UnfinishedError where src is
// itself an unfinished copy, ErrSame.
func Begin(ctx context.Context, src, dst Store, source string, part func(backing.Key) bool) (resumed bool, err error) {
	mark, err := ReadMark(ctx, dst)
	switch {
	case err != nil:
		return false, err
	case mark != nil && mark.Source != source:
		return false, &OccupiedError{Reason: "it is the unfinished copy of " + mark.Source}
	case mark == nil:
		if err := empty(ctx, dst, part); err != nil {
			return false, err
		}
	}
	if of, err := ReadMark(ctx, src); err != nil {
		return false, err
	} else if of != nil {
		if mark != nil && of.ID == mark.ID {
			return false, ErrSame
		}
		return false, &UnfinishedError{source, *of}
	}
	if mark != nil {
		return true, nil
	}
	return false, writeMark(ctx, src, dst, source)
}

// writeMark writes the mark, and sees whether it shows in the source.
func writeMark(ctx context.Context, src, dst Store, source string) error {
	mark := Mark{Source: source, ID: uuid.NewString(), Since: time.Now().UTC().Truncate(time.Second)}
	text, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	_, err = dst.Put(ctx, markKey, bytes.NewReader(append(text, '\n')), backing.PutOptions{If: backing.Absent, Mode: 0o600})
	if errors.Is(err, backing.ErrExists) {
		return &OccupiedError{Reason: "another copy into it has just begun"}
	}
	if err != nil {
		return fmt.Errorf("mark the copy as unfinished: %w", err)
	}
	of, err := ReadMark(ctx, src)
	if err == nil && of != nil && of.ID == mark.ID {
		err = ErrSame
	}
	if err != nil {
		return errors.Join(err, dst.Remove(context.WithoutCancel(ctx), markKey, ""))
	}
	return nil
}

// Finish takes the mark away: dst is a store like any other then.
func Finish(ctx context.Context, dst backing.Store) error {
	if err := dst.Remove(ctx, markKey, ""); err != nil {
		return fmt.Errorf("take the mark of an unfinished copy away: %w", err)
	}
	return nil
}
