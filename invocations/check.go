package invocations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"ctxfs/backing"
	"ctxfs/room"
)

// CheckStore reads the history in store, in constant memory, and reports what
// is wrong with it. It changes nothing, and may run beside a writer: a last
// line without its end is then one that is being written. The error is the
// store's or ctx's; problems are none.
func CheckStore(ctx context.Context, store backing.Store, report func(room.Problem)) error {
	_, err := store.Stat(ctx, rejKey)
	if err == nil {
		report(room.Problem{Path: string(rejKey), Warning: true, Reason: "refused lines wait here",
			Fix: "append them, mended, to " + file + "; or remove it"})
	} else if !errors.Is(err, backing.ErrNotFound) && !errors.Is(err, backing.ErrNotDir) {
		return fmt.Errorf("check %s: %w", rejKey, err)
	}
	return room.Examine(ctx, store, fileKey, file, report, func(r *io.SectionReader) error {
		return room.Lines(r, MaxLine+1, func(n int, line []byte, ended bool) error {
			if !ended {
				report(tornLine(store, n))
			} else if len(bytes.TrimSpace(line)) > 0 {
				checkLine(n, line, report)
			}
			return ctx.Err()
		})
	})
}

func checkLine(n int, line []byte, report func(room.Problem)) {
	_, found, err := parse(line)
	if err != nil {
		p := room.ProblemOf(file, n, err)
		p.Fix += "; readers leave the line out"
		report(p)
		return
	}
	for _, field := range []struct {
		name  string
		there bool
	}{{success, found.success}, {timestamp, found.timestamp}, {id, found.id}} {
		if !field.there {
			report(room.Problem{Path: file, Line: n, Field: field.name, Warning: true, Reason: "it is missing",
				Fix: "append through the mount or `ctxfs record`, which fill it in; lines are never changed afterwards"})
		}
	}
}

// tornLine is the problem of a last line without its end.
func tornLine(store backing.Store, n int) room.Problem {
	return room.Problem{Path: file, Line: n, Warning: true, Leftover: true, Reason: "the last line has no end",
		Fix: "the next start ends it, or moves it to " + string(rejKey) + " if it is no invocation",
		Mend: func(ctx context.Context) (string, error) {
			h, err := Open(ctx, store, Options{Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				return "", err
			}
			if _, err := store.Stat(ctx, rejKey); err == nil {
				return "ended it, or moved it to " + string(rejKey), h.Close()
			}
			return "ended it", h.Close()
		}}
}
