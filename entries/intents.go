package entries

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"ctxfs/backing"
	"ctxfs/room"
)

// IntentsKey is where marks are kept from before the new entry is written
// until the old ones are marked, one JSON object a line: a store has no writes
// of several objects at once, so a start after a crash finishes them.
const IntentsKey backing.Key = backing.Own + "/log/supersede"

// intents are the marks that are not written yet.
type intents struct {
	mu   sync.Mutex // guards open, and serialises the writes to IntentsKey
	open []mark
}

// add makes marks durable.
func (i *intents) add(ctx context.Context, store backing.Store, marks []mark) error {
	if len(marks) == 0 {
		return nil
	}
	var lines []byte
	for _, m := range marks {
		line, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("note %s as superseded: %w", m.Old, err)
		}
		lines = append(append(lines, line...), '\n')
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := room.MakeOwnDir(ctx, store, IntentsKey.Dir()); err != nil {
		return err
	}
	_, err := store.Append(ctx, IntentsKey, lines)
	if err == nil {
		err = store.Sync(ctx, IntentsKey)
	}
	if err != nil {
		return fmt.Errorf("note what is superseded: %w", errors.Join(err, i.renew(ctx, store)))
	}
	i.open = append(i.open, marks...)
	return nil
}

// renew writes the list anew after a failed append or sync: nobody knows what
// of it is on disk, and the store does not sync it any more.
func (i *intents) renew(ctx context.Context, store backing.Store) error {
	if len(i.open) == 0 {
		err := store.Remove(ctx, IntentsKey, "")
		if errors.Is(err, backing.ErrNotFound) {
			return nil
		}
		return err
	}
	var b bytes.Buffer
	for _, m := range i.open {
		line, err := json.Marshal(m)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	_, err := store.Put(ctx, IntentsKey, &b, backing.PutOptions{Mode: 0o600})
	return err
}

// remove forgets marks; the list in the store goes with the last one.
func (i *intents) remove(ctx context.Context, store backing.Store, marks []mark) error {
	if len(marks) == 0 {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, m := range marks {
		if n := slices.Index(i.open, m); n >= 0 {
			i.open = slices.Delete(i.open, n, n+1)
		}
	}
	if len(i.open) > 0 {
		return nil
	}
	if err := store.Remove(ctx, IntentsKey, ""); err != nil && !errors.Is(err, backing.ErrNotFound) {
		return fmt.Errorf("forget what is superseded: %w", err)
	}
	return nil
}

// repair writes the marks that a crash left undone: those whose new entry is
// in the store and names the old one.
func (e *Entries) repair(ctx context.Context) error {
	if e.store.ReadOnly() {
		return nil
	}
	text, err := e.readAll(ctx, IntentsKey, "")
	if errors.Is(err, backing.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		var m mark
		if json.Unmarshal(line, &m) != nil {
			continue // cut off by the crash, before the new entry was written
		}
		if err := e.repairMark(ctx, m); err != nil {
			// A full disk must not keep the store from being read.
			e.o.Log.Error("an entry is not marked as superseded yet; the next start will do it", "path", m.Old, "by", m.New, "err", err)
			e.intents.open = append(e.intents.open, m)
		}
	}
	if len(e.intents.open) > 0 {
		return nil
	}
	if err := e.store.Remove(ctx, IntentsKey, ""); err != nil && !errors.Is(err, backing.ErrNotFound) {
		return fmt.Errorf("forget what is superseded: %w", err)
	}
	return nil
}

func (e *Entries) repairMark(ctx context.Context, m mark) error {
	p, err := placeOf(m.New)
	if err != nil {
		return nil // not a line that this room wrote
	}
	cur, err := e.current(ctx, p)
	if err != nil || !supersededBy(p, cur.content)[m.Old] {
		return err
	}
	e.o.Log.Info("finish what a crash interrupted", "path", m.Old, "superseded_by", m.New)
	return e.writeMark(ctx, m)
}
