package memories

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"ctxfs/backing"
)

// look finds out what there is to be delivered of b. Only who serves b calls it.
func (o *outbox) look(ctx context.Context, b *box) (v survey, waits bool, err error) {
	v, err = o.s.survey(ctx, b.memory)
	switch {
	case err != nil:
	case v.rev == "":
		o.forget(b)
	default:
		o.stands(b, v.cursor.Offset)
		if err = o.lookAtEntries(ctx, b, v.size); err == nil {
			err = o.lookAtParcels(ctx, b, v.parcels)
		}
	}
	if err == nil && v.dead != b.dead {
		err = o.loadDead(ctx, b)
		b.dead = v.dead
	}
	o.tell()
	_, line := o.first(b)
	return v, line || len(b.parcels) > 0, err
}

// forget notes that b has no cursor, so that nothing of it is delivered until an
// entry is added here, which makes one.
func (o *outbox) forget(b *box) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b.begun, b.from, b.ends, b.parcels = false, 0, nil, nil
}

// stands notes how far b has been delivered.
func (o *outbox) stands(b *box, offset int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if offset < b.from || offset > b.known() {
		b.ends = nil
	}
	n, _ := slices.BinarySearch(b.ends, offset+1)
	b.from, b.ends = offset, b.ends[n:]
}

// known is up to where the lines of b are counted. outbox.mu is held.
func (b *box) known() int64 {
	if n := len(b.ends); n > 0 {
		return b.ends[n-1]
	}
	return b.from
}

// first is the end of the first line that waits.
func (o *outbox) first(b *box) (end int64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(b.ends) == 0 {
		return 0, false
	}
	return b.ends[0], true
}

// lookAtEntries counts the lines that have come to entries.jsonl, which has
// size bytes. A last line without end is none yet.
func (o *outbox) lookAtEntries(ctx context.Context, b *box, size int64) error {
	o.mu.Lock()
	known := b.known()
	o.mu.Unlock()
	if size <= known {
		return nil
	}
	more, err := o.endsFrom(ctx, b.memory, known)
	if err != nil {
		return err
	}
	o.mu.Lock()
	if known == b.known() { // else they have been counted meanwhile
		b.ends = append(b.ends, more...)
	}
	o.mu.Unlock()
	o.tell()
	return nil
}

// endsFrom returns where the lines end that begin at from or behind.
func (o *outbox) endsFrom(ctx context.Context, memory string, from int64) (ends []int64, err error) {
	c, err := o.s.store.Open(ctx, o.s.key(memory, entriesFile), "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	in := bufio.NewReaderSize(io.NewSectionReader(c, from, c.Size()-from), 64<<10)
	for at := from; ; {
		part, err := in.ReadSlice('\n')
		at += int64(len(part))
		switch {
		case errors.Is(err, io.EOF):
			return ends, nil
		case err == nil:
			ends = append(ends, at)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read the entries of memory %s: %w", memory, err)
		}
	}
}

// lookAtParcels counts the entries in those that it does not know.
func (o *outbox) lookAtParcels(ctx context.Context, b *box, keys []backing.Key) error {
	parcels := make([]parcel, 0, len(keys))
	for _, key := range keys {
		i := slices.IndexFunc(b.parcels, func(p parcel) bool { return p.key == key })
		if i >= 0 {
			parcels = append(parcels, b.parcels[i])
			continue
		}
		text, err := o.s.readAll(ctx, key)
		if errors.Is(err, backing.ErrNotFound) {
			continue // delivered meanwhile
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		parcels = append(parcels, parcel{key, len(linesOf(text))})
	}
	o.mu.Lock()
	b.parcels = parcels
	o.mu.Unlock()
	return nil
}
