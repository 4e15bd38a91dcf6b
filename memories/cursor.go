package memories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ctxfs/backing"
	"ctxfs/room"
)

const (
	// DeliveriesDir is where a store that several hosts write keeps what the
	// backend has not got, for all of them: <memory>/cursor says how far
	// entries.jsonl has been delivered, <memory>/<number>.jsonl are entries that
	// are sent apart from that, as those that were refused once.
	DeliveriesDir backing.Key = backing.Own + "/deliveries"
	cursorFile                = "cursor"
)

// cursor is how far a memory has been delivered, and who delivers it. It is one
// object, changed by compare-and-set only: who has lost it can neither move it
// nor, as an entry is sent after the cursor stands behind the one before, send
// more than the one entry that it is sending.
type cursor struct {
	Offset int64  `json:"offset"`           // in entries.jsonl, bytes; what is before it is taken or refused
	Holder string `json:"holder,omitempty"` // who delivers; "" is nobody
}

func cursorKey(memory string) backing.Key { return DeliveriesDir.Join(memory).Join(cursorFile) }

// readCursor is backing.ErrNotFound where the cursor has not the revision rev.
func (s *Memories) readCursor(ctx context.Context, key backing.Key, rev backing.Revision) (c cursor, err error) {
	text, err := s.readRevision(ctx, key, rev)
	if err != nil {
		return c, err
	}
	return parseCursor(text)
}

func parseCursor(text []byte) (c cursor, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("it says no place in entries.jsonl: %w", err)
	}
	if c.Offset < 0 {
		return c, fmt.Errorf("it says %d, which is no place in entries.jsonl", c.Offset)
	}
	return c, nil
}

// putCursor is backing.ErrConflict where the cursor has not the revision rev.
func (s *Memories) putCursor(ctx context.Context, key backing.Key, c cursor, rev backing.Revision) (backing.Revision, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", key, err)
	}
	m, err := s.store.Put(ctx, key, bytes.NewReader(append(text, '\n')), backing.PutOptions{If: rev, Mode: 0o600})
	return m.Revision, err
}

// beginCursor makes the cursor of a memory where it is missing: at the end of
// what is there, so that what is added from now on is delivered.
func (s *Memories) beginCursor(ctx context.Context, memory string) error {
	key := cursorKey(memory)
	_, err := s.store.Stat(ctx, key)
	if !errors.Is(err, backing.ErrNotFound) {
		return err
	}
	size, err := s.entriesSize(ctx, memory)
	if err == nil {
		err = room.MakeOwnDir(ctx, s.store, key.Dir())
	}
	if err == nil {
		_, err = s.putCursor(ctx, key, cursor{Offset: size}, backing.Absent)
	}
	if errors.Is(err, backing.ErrExists) {
		return nil // another host was faster, and what this one adds is behind it
	}
	return err
}

// entriesSize is 0 where there are no entries.
func (s *Memories) entriesSize(ctx context.Context, memory string) (int64, error) {
	m, err := s.store.Stat(ctx, s.key(memory, entriesFile))
	if errors.Is(err, backing.ErrNotFound) {
		return 0, nil
	}
	return m.Size, err
}

// survey is what there is to be delivered of a memory.
type survey struct {
	cursor  cursor
	rev     backing.Revision // of the cursor; "" where there is none
	size    int64            // of entries.jsonl, not less than the cursor's offset
	parcels []backing.Key
	dead    backing.Revision // of the dead letters; "" where there are none
}

// waits reports whether there is something.
func (v survey) waits() bool {
	return v.rev != "" && (v.cursor.Offset < v.size || len(v.parcels) > 0)
}

func (s *Memories) survey(ctx context.Context, memory string) (v survey, err error) {
	for {
		v = survey{}
		err = s.each(ctx, DeliveriesDir.Join(memory), func(m backing.Meta) error {
			switch name := m.Key.Name(); name {
			case cursorFile:
				v.rev = m.Revision
			case deadFile:
				v.dead = m.Revision
			default:
				if _, ok := parcelNumber(name); ok {
					v.parcels = append(v.parcels, m.Key)
				}
			}
			return nil
		})
		if err != nil || v.rev == "" {
			return v, err
		}
		v.cursor, err = s.readCursor(ctx, cursorKey(memory), v.rev)
		if !errors.Is(err, backing.ErrNotFound) {
			break
		} // it has been moved since
	}
	if err != nil {
		return v, fmt.Errorf("read %s: %w", cursorKey(memory), err)
	}
	// The size after the cursor, which is never ahead of it.
	if v.size, err = s.entriesSize(ctx, memory); err == nil && v.size < v.cursor.Offset {
		s.o.Log.Warn("the entries of a memory are others than those that were delivered; all are sent", "memory", memory)
		v.cursor.Offset = 0
	}
	return v, err
}

// Undelivered reports whether there is something in a store of several hosts
// that the backend of its memories has not got, or has refused.
func Undelivered(ctx context.Context, store backing.Store) (any bool, err error) {
	s := &Memories{store: store, top: roomDir, o: Options{}.orDefault()}
	err = s.each(ctx, DeliveriesDir, func(d backing.Meta) error {
		if any || !d.Dir || CheckMemory(d.Key.Name()) != nil {
			return nil
		}
		v, err := s.survey(ctx, d.Key.Name())
		any = v.waits() || v.dead != ""
		return err
	})
	return any, err
}
