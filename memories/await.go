package memories

import (
	"context"
	"fmt"

	"ctxfs/backing"
)

// AwaitDelivery returns when the backend has taken, or refused, every entry
// that was added to memory before, or with ctx. Without a backend it returns
// at once.
func (s *Memories) AwaitDelivery(ctx context.Context, memory string) error {
	if s.outbox == nil {
		return nil
	}
	last, _, _ := s.outbox.waiting(memory)
	for {
		_, first, moved := s.outbox.waiting(memory)
		if first == "" || first > last {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("await the delivery of memory %s: %w", memory, ctx.Err())
		case <-moved:
		}
	}
}

// waiting returns the newest and the oldest parcel of memory that are not
// delivered, "" where there is none, and what is closed when that changes.
func (o *outbox) waiting(memory string) (newest, oldest backing.Key, moved <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b := o.boxes[memory]; b != nil && len(b.parcels) > 0 {
		newest, oldest = b.parcels[len(b.parcels)-1].key, b.parcels[0].key
	}
	return newest, oldest, o.moved
}
