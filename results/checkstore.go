package results

import (
	"context"
	"fmt"
	"io"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// CheckStore reads the results that lie in store as files, in constant memory,
// and reports what is wrong with them; small ones of a daemon that runs are
// in its memory and not seen. It changes nothing. The error is the store's or
// ctx's; problems are none.
func CheckStore(ctx context.Context, store backing.Store, report func(room.Problem)) error {
	left := 0
	err := room.Each(ctx, store, roomDir, func(m backing.Meta) error {
		name := m.Key.Name()
		if m.Dir || m.Link || m.Special {
			report(room.NotShown(m))
			return nil
		}
		left++
		if isResult(name) {
			return checkFile(ctx, store, m.Key, report)
		}
		if strings.HasSuffix(name, rejEnd) {
			return room.CheckReject(ctx, store, m.Key, string(m.Key), report)
		}
		return nil
	})
	if left > 0 {
		report(room.Problem{Path: roomDir, Warning: true, Leftover: true,
			Reason: fmt.Sprintf("%d files are left of sessions that have ended with their daemon", left),
			Fix:    "copy what you want to keep: the next mount removes them"})
	}
	return err
}

func checkFile(ctx context.Context, store backing.Store, key backing.Key, report func(room.Problem)) error {
	name := key.Name()
	if err := checkName(name); err != nil {
		report(room.ProblemOf(string(key), 0, err))
		return nil
	}
	return room.Examine(ctx, store, key, string(key), report, func(r *io.SectionReader) error {
		_, err := Check(name, r)
		return err
	})
}
