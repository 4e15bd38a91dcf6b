package memories

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// maxBatch is how many entries at most share one append and one file in the
// outbox.
const maxBatch = 64

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
	b := &batch{s: s, m: m, entries: entries, at: s.o.Now(), given: make([]bool, len(entries))}
	ids := make([]string, len(entries))
	for i := range entries {
		b.given[i] = entries[i].ID != ""
		if !b.given[i] {
			entries[i].ID = s.o.NewID()
		}
		ids[i] = entries[i].ID
	}
	done := make(chan error, 1)
	err := s.queue.Submit(ctx, memory, Job{
		Accepted: m.hold,
		Run:      b.run,
		Done: func(err error) {
			done <- b.end(err)
			m.release()
		},
	})
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

// batch is entries on their way into a memory. Only the worker uses it after
// it was queued.
type batch struct {
	s       *Memories
	m       *memory
	entries []Entry
	given   []bool // the entry came with its id
	at      time.Time

	// How far it has come: a retry goes on from there.
	lines    [][]byte
	parcels  []parcel // in the outbox
	parceled bool
	appended bool
}

// run is the job of add_entry. The outbox comes before entries.jsonl: what a
// crash leaves in the outbox only, the next start appends.
func (b *batch) run(ctx context.Context) error {
	s, m := b.s, b.m
	if err := s.writeFailed(ctx, m); err != nil {
		return err // an entry without the context before it would be wrong
	}
	if b.lines == nil {
		snapshot, err := s.snapshot(ctx, m)
		if errors.Is(err, backing.ErrNotFound) {
			if err = s.makeDirs(ctx, m.name); err == nil {
				snapshot, err = s.snapshot(ctx, m)
			}
		}
		if err != nil {
			return err
		}
		for i, e := range b.entries {
			b.lines = append(b.lines, e.stored(b.at, b.given[i], snapshot))
		}
	}
	if s.outbox != nil && !b.parceled {
		if err := b.pack(ctx); err != nil {
			return err
		}
	}
	key := s.key(m.name, entriesFile)
	if err := s.appendLines(ctx, key, b.lines); err != nil {
		return err
	}
	b.appended = true
	if err := s.store.Sync(ctx, key); err != nil {
		return fmt.Errorf("%w: %w", errNotAgain, err)
	}
	return nil
}

// pack puts the lines into the outbox.
func (b *batch) pack(ctx context.Context) error {
	for i := len(b.parcels) * maxBatch; i < len(b.lines); i += maxBatch {
		p, err := b.s.outbox.pack(ctx, b.m.name, b.lines[i:min(i+maxBatch, len(b.lines))])
		if err != nil {
			return err
		}
		b.parcels = append(b.parcels, p)
	}
	b.parceled = true
	return nil
}

// end hands the entries over for delivery, or takes them back.
func (b *batch) end(err error) error {
	if b.appended {
		b.s.changed(b.m.name + "/" + entriesFile)
	}
	if b.s.outbox == nil {
		return err
	}
	if b.appended {
		b.s.outbox.send(b.m.name, b.parcels)
		return err
	}
	for _, p := range b.parcels {
		if rerr := b.s.store.Remove(context.Background(), p.key, ""); rerr != nil {
			err = errors.Join(err, fmt.Errorf("an entry that failed stays in the outbox: %w", rerr))
		}
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
