package memories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
	"ctxfs/room"
)

// CheckStore reads the memories in store, or in the store of their own at
// whose top they lie ([Options].Own), with what waits for the backend, and
// reports what is wrong with them. It changes nothing and may run beside a
// writer. The error is the store's or ctx's; problems are none.
func CheckStore(ctx context.Context, store backing.Store, own bool, report func(room.Problem)) error {
	c := &checking{Memories: &Memories{store: store, top: roomDir}, report: report}
	if own {
		c.top = ""
	}
	err := room.Each(ctx, store, c.top, func(m backing.Meta) error {
		name := m.Key.Name()
		if m.Dir && CheckMemory(name) == nil {
			return c.memory(ctx, name)
		}
		if !own {
			report(room.NotShown(m))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.outbox(ctx, OutboxDir); err != nil {
		return err
	}
	return c.outbox(ctx, DeliveriesDir)
}

// checking is a check under way.
type checking struct {
	*Memories // of which only the places of files are used
	report    func(room.Problem)
}

// at is where a memory's file is in the mount.
func at(memory, file string) string { return roomDir + "/" + memory + "/" + file }

func (c *checking) memory(ctx context.Context, memory string) error {
	if err := c.document(ctx, memory); err != nil {
		return err
	}
	if err := c.entries(ctx, memory); err != nil {
		return err
	}
	return room.Each(ctx, c.store, c.dirKey(memory), func(m backing.Meta) error {
		switch name := m.Key.Name(); {
		case m.Dir || m.Special:
			c.report(room.NotShown(m))
		case isTmp(name):
			c.report(room.Problem{Path: at(memory, name), Warning: true, Leftover: true, Reason: "a write was interrupted",
				Fix: "the next start finishes it, or removes what was not acknowledged as written", Mend: c.restart})
		case name == contextFile+rejEnd:
			return room.CheckReject(ctx, c.store, m.Key, at(memory, name), c.report)
		}
		return nil
	})
}

// restart mends what every start does.
func (c *checking) restart(ctx context.Context) (string, error) {
	c.files, _ = c.store.(backing.Files)
	return "finished it, or removed what was begun", c.repair(ctx)
}

// document compares a context document with its snapshot.
func (c *checking) document(ctx context.Context, memory string) error {
	m, err := c.store.Stat(ctx, c.key(memory, contextFile))
	if errors.Is(err, backing.ErrNotFound) {
		return nil // add_entry makes a snapshot where it needs one
	}
	if err != nil {
		return err
	}
	path := at(memory, snapshotFile)
	if m.Size > MaxContext {
		c.report(room.Problem{Path: at(memory, contextFile), Reason: fmt.Sprintf("it has %d bytes, %d are the most", m.Size, MaxContext),
			Fix: "shorten it, or split it into several memories"})
		return nil
	}
	doc, err := c.readAll(ctx, m.Key)
	if errors.Is(err, backing.ErrNotFound) {
		return nil
	}
	if err != nil {
		c.report(room.ProblemOf(at(memory, contextFile), 0, err))
		return ctx.Err()
	}
	derive := room.Problem{Path: path, Warning: true, Fix: "the next save of " + contextFile + " writes it", Mend: c.derive(memory)}
	shot, err := c.readAll(ctx, c.key(memory, snapshotFile))
	line, ok := parseSnapshot(shot)
	switch {
	case errors.Is(err, backing.ErrNotFound):
		derive.Reason = "it is missing, and entries would carry no context"
	case err != nil:
		derive.Reason = "it cannot be read: " + err.Error()
	case !ok:
		derive.Warning = false
		derive.Reason = `it is no JSON object with a string "activeContext"`
	case activeContext(line) != activeContext(snapshotOf(string(doc))):
		derive.Reason = "it says something else than " + contextFile + ", and entries carry what it says"
	default:
		return nil
	}
	c.report(derive)
	return ctx.Err()
}

func activeContext(snapshot []byte) string {
	var s struct {
		ActiveContext string `json:"activeContext"`
	}
	if json.Unmarshal(snapshot, &s) != nil {
		return ""
	}
	return s.ActiveContext
}

// derive writes the snapshot anew from the document, or finds that a host which
// puts a context has just done so.
func (c *checking) derive(memory string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		shot := c.key(memory, snapshotFile)
		o := backing.PutOptions{If: backing.Absent}
		if m, err := c.store.Stat(ctx, shot); err == nil {
			o.If = m.Revision
		} else if !errors.Is(err, backing.ErrNotFound) {
			return "", err
		}
		// After the look at the snapshot: a host puts the document first.
		doc, err := c.readAll(ctx, c.key(memory, contextFile))
		if err != nil {
			return "", err
		}
		_, err = c.store.Put(ctx, shot, bytes.NewReader(snapshotOf(string(doc))), o)
		if errors.Is(err, backing.ErrConflict) || errors.Is(err, backing.ErrExists) {
			return "left it to the host that is writing it", nil
		}
		return "wrote it anew from " + contextFile, err
	}
}

// maxStored is more than a stored line takes, in bytes: the entry, and the
// snapshot with each of its bytes escaped.
const maxStored = MaxEntry + 6*MaxContext + 4096

// entries reads the lines of a memory.
func (c *checking) entries(ctx context.Context, memory string) error {
	path := at(memory, entriesFile)
	return room.Examine(ctx, c.store, c.key(memory, entriesFile), path, c.report, func(r *io.SectionReader) error {
		return room.Lines(r, maxStored, func(n int, line []byte, ended bool) error {
			if !ended {
				c.report(room.Problem{Path: path, Line: n, Warning: true, Leftover: true, Reason: "the last line has no end",
					Fix: "the next entry begins a new line; complete the last one, or remove it"})
			} else if len(bytes.TrimSpace(line)) > 0 {
				c.line(path, n, line)
			}
			return ctx.Err()
		})
	})
}

func (c *checking) line(path string, n int, line []byte) {
	_, snapshot, _, err := split(line)
	if err == nil {
		if _, ok := parseSnapshot(snapshot); !ok {
			err = errors.New(`its "context" is no object with a string "activeContext"`)
		}
	}
	if err != nil {
		c.report(room.Problem{Path: path, Line: n, Reason: "it is no entry: " + err.Error(),
			Fix: "add entries through the mount or `ctxfs memory add`; correct or remove the line while no daemon runs"})
	}
}
