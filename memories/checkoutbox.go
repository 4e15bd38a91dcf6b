package memories

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"ctxfs/backing"
	"ctxfs/room"
)

// outbox reads what waits for the backend in dir, and what it refused.
func (c *checking) outbox(ctx context.Context, dir backing.Key) error {
	return room.Each(ctx, c.store, dir, func(d backing.Meta) error {
		memory := d.Key.Name()
		if !d.Dir || CheckMemory(memory) != nil {
			c.unknown(d)
			return nil
		}
		return room.Each(ctx, c.store, d.Key, func(f backing.Meta) error {
			if _, ok := parcelNumber(f.Key.Name()); ok {
				return c.parcel(ctx, f)
			}
			switch f.Key.Name() {
			case deadFile:
				return c.dead(ctx, memory, f)
			case cursorFile:
				return c.cursor(ctx, memory, f)
			}
			c.unknown(f)
			return nil
		})
	})
}

func (c *checking) unknown(m backing.Meta) {
	c.report(room.Problem{Path: string(m.Key), Warning: true, Reason: "it is nothing that waits for a backend",
		Fix: "remove it if you know it to be of no use"})
}

func (c *checking) parcel(ctx context.Context, m backing.Meta) error {
	path := string(m.Key)
	return room.Examine(ctx, c.store, m.Key, path, c.report, func(r *io.SectionReader) error {
		return room.Lines(r, maxStored, func(n int, line []byte, ended bool) error {
			c.line(path, n, line)
			return ctx.Err()
		})
	})
}

// dead reads the entries that the backend refused: each line is to be read,
// and that there are some is worth knowing.
func (c *checking) dead(ctx context.Context, memory string, m backing.Meta) error {
	path, parked, reason := string(m.Key), 0, ""
	err := room.Examine(ctx, c.store, m.Key, path, c.report, func(r *io.SectionReader) error {
		return room.Lines(r, 6*maxStored, func(n int, line []byte, ended bool) error {
			var d deadLetter
			switch err := json.Unmarshal(line, &d); {
			case !ended:
				c.report(room.Problem{Path: path, Line: n, Warning: true, Leftover: true, Reason: "the last line has no end",
					Fix: "nothing is lost: what it was to say is still in the outbox"})
			case err != nil || d.Line == "":
				c.report(room.Problem{Path: path, Line: n, Reason: "it is no refused entry",
					Fix: "correct or remove the line while no daemon runs; the entry itself is in " + at(memory, entriesFile)})
			default:
				parked, reason = parked+1, d.Reason
			}
			return ctx.Err()
		})
	})
	if parked > 0 {
		c.report(room.Problem{Path: path, Warning: true,
			Reason: fmt.Sprintf("%d entries were refused by the backend, the last because %s", parked, reason),
			Fix:    "mend what it complains of; Memories.RetryParked sends those of " + memory + " again (go doc ./memories)"})
	}
	return err
}

// cursor reads how far a memory has been delivered.
func (c *checking) cursor(ctx context.Context, memory string, m backing.Meta) error {
	path := string(m.Key)
	return room.Examine(ctx, c.store, m.Key, path, c.report, func(r *io.SectionReader) error {
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		place, err := parseCursor(text)
		if err == nil {
			var size int64
			if size, err = c.entriesSize(ctx, memory); err != nil {
				return err
			}
			if place.Offset > size {
				err = fmt.Errorf("it says %d, and there are %d bytes of entries", place.Offset, size)
			}
		}
		if err != nil {
			c.report(room.Problem{Path: path, Reason: err.Error(),
				Fix: `make it {"offset":N}, where N is where the first entry begins in ` + at(memory, entriesFile) + " that the backend has not got"})
		}
		return nil
	})
}
