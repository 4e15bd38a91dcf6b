package memories

import (
	"context"
	"errors"
	"fmt"

	"ctxfs/backing"
	"ctxfs/room"
)

// adopt moves what this host's outbox of a memory holds to where all hosts
// have what is to be delivered: a ctxfs from before that delivered for its host
// only. A crash in between leaves some in both, to be sent twice with the same
// key.
func (o *outbox) adopt(ctx context.Context, memory string) error {
	b := &box{memory: memory}
	if err := o.load(ctx, b); err != nil {
		return err
	}
	letters, err := o.s.readAll(ctx, OutboxDir.Join(memory).Join(deadFile))
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return fmt.Errorf("read the dead letters of memory %s: %w", memory, err)
	}
	if len(b.parcels) == 0 && len(letters) == 0 {
		return nil
	}
	if err := o.s.beginCursor(ctx, memory); err != nil {
		return err
	}
	for _, p := range b.parcels {
		text, err := o.s.readAll(ctx, p.key)
		if err == nil {
			_, err = o.pack(ctx, memory, linesOf(text))
		}
		if err == nil {
			err = o.s.store.Remove(ctx, p.key, "")
		}
		if err != nil {
			return fmt.Errorf("move %s: %w", p.key, err)
		}
	}
	if len(letters) == 0 {
		return nil
	}
	if err := room.MakeOwnDir(ctx, o.s.store, DeliveriesDir.Join(memory)); err != nil {
		return err
	}
	_, err = o.s.store.Append(ctx, o.deadKey(memory), letters)
	if err == nil {
		err = o.s.store.Sync(ctx, o.deadKey(memory))
	}
	if err == nil {
		err = o.s.store.Remove(ctx, OutboxDir.Join(memory).Join(deadFile), "")
	}
	if err != nil {
		return fmt.Errorf("move the dead letters of memory %s: %w", memory, err)
	}
	return nil
}
