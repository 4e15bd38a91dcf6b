package memories

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"ctxfs/backing"
	"ctxfs/room"
)

// parcel is one file in the outbox.
type parcel struct {
	key   backing.Key
	lines int
}

// maxParcel is how many entries at most share one file in the outbox.
const maxParcel = 64

// packAll puts lines into the outbox, durably, where there is a backend. Where
// several hosts write the store they are delivered from entries.jsonl, and need
// a cursor there.
// After an error it returns what is there already. Only the worker of the
// memory calls it.
func (o *outbox) packAll(ctx context.Context, memory string, lines [][]byte) (all []parcel, err error) {
	if o == nil {
		return nil, nil
	}
	if o.shared {
		return nil, o.begin(ctx, memory)
	}
	for i := 0; i < len(lines); i += maxParcel {
		p, err := o.pack(ctx, memory, lines[i:min(i+maxParcel, len(lines))])
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

// begin makes the cursor of memory where it is missing.
func (o *outbox) begin(ctx context.Context, memory string) error {
	o.mu.Lock()
	begun := o.box(memory).begun
	o.mu.Unlock()
	if begun {
		return nil
	}
	if err := o.s.beginCursor(ctx, memory); err != nil {
		return fmt.Errorf("begin to deliver memory %s: %w", memory, err)
	}
	o.mu.Lock()
	o.box(memory).begun = true
	o.mu.Unlock()
	return nil
}

func (o *outbox) pack(ctx context.Context, memory string, lines [][]byte) (parcel, error) {
	o.mu.Lock()
	b := o.box(memory)
	b.last = max(b.last+1, uint64(o.s.o.Now().UnixNano()))
	key := o.dir().Join(memory).Join(fmt.Sprintf("%016x", b.last) + parcelEnd)
	o.mu.Unlock()
	put := func() error {
		_, err := o.s.store.Put(ctx, key, bytes.NewReader(bytes.Join(lines, nil)), backing.PutOptions{If: backing.Absent, Mode: 0o600})
		return err
	}
	err := put()
	if errors.Is(err, backing.ErrNotFound) {
		if err = room.MakeOwnDir(ctx, o.s.store, key.Dir()); err == nil {
			err = put()
		}
	}
	if err != nil {
		return parcel{}, fmt.Errorf("put an entry into the outbox: %w", err)
	}
	return parcel{key, len(lines)}, nil
}

// takeBack removes parcels whose entries were not added.
func (o *outbox) takeBack(parcels []parcel) (err error) {
	for _, p := range parcels {
		rerr := o.s.store.Remove(context.Background(), p.key, "")
		if rerr != nil && !errors.Is(rerr, backing.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("an entry that failed stays in the outbox: %w", rerr))
		}
	}
	return err
}
