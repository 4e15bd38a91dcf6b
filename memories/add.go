package memories

import (
	"context"
	"errors"
	"fmt"

	"ctxfs/backing"
)

// AddEntry adds entry, a JSON object on one line (see [ParseEntry]), to
// memory, which it makes where it is missing. It waits behind every
// [Memories.PutContext] that was acknowledged before, gets the snapshot of
// that moment, and returns its id when its line is in entries.jsonl and, with
// a backend, in the outbox, both fsynced. *codec.Refusal (EINVAL) for what is
// no entry; *FullError (EAGAIN) where the queue stayed full: it was not added.
// When ctx ends while it waits it may still be added (reference/3, add_entry).
func (s *Memories) AddEntry(ctx context.Context, memory string, entry []byte) (id string, err error) {
	if err := CheckMemory(memory); err != nil {
		return "", err
	}
	e, err := ParseEntry(entry)
	if err != nil {
		return "", withPath(err, memory+"/"+entriesFile, 0)
	}
	ids, err := s.add(ctx, memory, []Entry{e})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// add adds entries in order, and returns their ids.
func (s *Memories) add(ctx context.Context, memory string, entries []Entry) ([]string, error) {
	if s.store.ReadOnly() {
		return nil, backing.ErrReadOnly
	}
	m := s.get(memory)
	defer m.release()
	if err := s.ensureDir(ctx, m); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	t := &task{entries: entries, at: s.o.Now(), given: make([]bool, len(entries)), done: func(err error) { done <- err }}
	ids := make([]string, len(entries))
	for i := range entries {
		t.given[i] = entries[i].ID != ""
		if !t.given[i] {
			entries[i].ID = s.o.NewID()
		}
		ids[i] = entries[i].ID
	}
	err := s.submit(ctx, m, t)
	if err != nil {
		return nil, err
	}
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("add to memory %s: %w", memory, err)
	}
	return ids, nil
}

// addAll adds the entries of group, whose lines are composed, with one append
// and one sync. The outbox comes before entries.jsonl: what a crash leaves in
// the outbox only, the next start appends.
func (s *Memories) addAll(ctx context.Context, m *memory, group []*task) error {
	var adds []*task
	var lines [][]byte
	for _, t := range group {
		if t.text == nil {
			adds = append(adds, t)
			lines = append(lines, t.lines...)
		}
	}
	if len(adds) == 0 {
		return nil
	}
	parcels, err := s.outbox.packAll(ctx, m.name, lines)
	key := s.key(m.name, entriesFile)
	if err == nil {
		err = s.appendLines(ctx, key, lines)
		if errors.Is(err, backing.ErrUnknown) {
			err = s.appendMissing(ctx, m.name, lines)
		}
	}
	if err != nil {
		return errors.Join(err, s.outbox.takeBack(parcels))
	}
	if err = s.store.Sync(ctx, key); err != nil {
		err = fmt.Errorf("%w: %w", errNotAgain, err)
	}
	s.changed(m.name + "/" + entriesFile)
	s.outbox.send(m.name, parcels)
	for _, t := range adds {
		m.end(t, err)
	}
	return err
}

// appendLines appends whole lines in one piece, after the end of a line.
func (s *Memories) appendLines(ctx context.Context, key backing.Key, lines [][]byte) error {
	var all []byte
	torn, err := s.torn(ctx, key)
	if err != nil {
		return err
	}
	if torn {
		all = append(all, '\n')
	}
	for _, line := range lines {
		all = append(all, line...)
	}
	_, err = s.store.Append(ctx, key, all)
	return err
}

// torn reports that the file at key ends within a line: a crash of the
// machine, or an editor, left it so.
func (s *Memories) torn(ctx context.Context, key backing.Key) (torn bool, err error) {
	c, err := s.store.Open(ctx, key, "")
	if errors.Is(err, backing.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if c.Size() == 0 {
		return false, nil
	}
	var last [1]byte
	if n, err := c.ReadAt(last[:], c.Size()-1); n != 1 {
		return false, err
	}
	return last[0] != '\n', nil
}
