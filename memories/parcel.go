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

// packAll puts lines into the outbox, durably, where there is a backend.
// After an error it returns what is there already. Only the worker of the
// memory calls it.
func (o *outbox) packAll(ctx context.Context, memory string, lines [][]byte) (all []parcel, err error) {
	if o == nil {
		return nil, nil
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

func (o *outbox) pack(ctx context.Context, memory string, lines [][]byte) (parcel, error) {
	o.mu.Lock()
	b := o.box(memory)
	b.last = max(b.last+1, uint64(o.s.o.Now().UnixNano()))
	key := OutboxDir.Join(memory).Join(fmt.Sprintf("%016x", b.last) + parcelEnd)
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
		if rerr := o.s.store.Remove(context.Background(), p.key, ""); rerr != nil {
			err = errors.Join(err, fmt.Errorf("an entry that failed stays in the outbox: %w", rerr))
		}
	}
	return err
}
