package room

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
	"ctxfs/codec"
)

// eachPage is how many names one listing of a check asks for.
const eachPage = 512

// Each calls f for every member of the directory dir of store; one that is
// not there has none.
func Each(ctx context.Context, store backing.Store, dir backing.Key, f func(backing.Meta) error) error {
	for after := ""; ; {
		page, err := store.List(ctx, dir, after, eachPage)
		if errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", dir, err)
		}
		for _, m := range page {
			after = m.Key.Name()
			if err := f(m); err != nil {
				return err
			}
		}
		if len(page) < eachPage {
			return nil
		}
	}
}

// Examine opens the content at key and hands it to look, and reports what that
// returns as a problem of path. What has been removed meanwhile is none. The
// error is that of ctx.
func Examine(ctx context.Context, store backing.Store, key backing.Key, path string, report func(Problem), look func(*io.SectionReader) error) error {
	c, err := store.Open(ctx, key, "")
	if errors.Is(err, backing.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = errors.Join(look(io.NewSectionReader(c, 0, c.Size())), c.Close())
	}
	if err != nil && ctx.Err() == nil {
		report(ProblemOf(path, 0, err))
	}
	return ctx.Err()
}

// rejHead is more than the explanation in a refused draft takes, in bytes.
const rejHead = 64 << 10

// CheckReject reports the file at key, path in the mount, if it is a refused
// draft.
func CheckReject(ctx context.Context, store backing.Store, key backing.Key, path string, report func(Problem)) error {
	return Examine(ctx, store, key, path, report, func(r *io.SectionReader) error {
		head, err := io.ReadAll(io.LimitReader(r, rejHead))
		if err != nil {
			return err
		}
		if _, ours := codec.RejDraft(head); ours {
			report(Problem{Path: path, Warning: true, Reason: "a refused draft waits here",
				Fix: "write it, mended, as it says; or remove it"})
		}
		return nil
	})
}

// NotShown is the problem of what lies in a room's directory and has no place
// in the mount.
func NotShown(m backing.Meta) Problem {
	what := "its name"
	switch {
	case m.Dir:
		what = "a directory with this name or at this depth"
	case m.Link:
		what = "a symbolic link"
	case m.Special:
		what = "a special file"
	}
	return Problem{Path: string(m.Key), Warning: true, Reason: "not shown in the mount: " + what, Fix: "keep it outside the store"}
}
