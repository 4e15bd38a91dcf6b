package memories

import (
	"context"
	"fmt"
	"time"

	"ctxfs/backing"
)

// AwaitDelivery returns when the backend has taken, or refused, every entry
// that was added to memory before, or with ctx. Without a backend it returns
// at once.
func (s *Memories) AwaitDelivery(ctx context.Context, memory string) error {
	if s.outbox == nil {
		return nil
	}
	if s.outbox.shared {
		return s.outbox.awaitCursor(ctx, memory)
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

// awaitEvery is the time between two looks for what another host delivers.
const awaitEvery = 50 * time.Millisecond

// awaitCursor returns when the cursor of memory is behind what it has now, and
// what is there to be sent besides has been.
func (o *outbox) awaitCursor(ctx context.Context, memory string) error {
	var until survey
	for first := true; ; first = false {
		o.mu.Lock()
		moved := o.moved
		o.mu.Unlock()
		v, err := o.s.survey(ctx, memory)
		if err != nil {
			return fmt.Errorf("await the delivery of memory %s: %w", memory, err)
		}
		if first {
			until = v
		}
		if v.cursor.Offset >= until.size && (len(v.parcels) == 0 || len(until.parcels) == 0 || v.parcels[0] > until.parcels[len(until.parcels)-1]) || v.rev == "" {
			return nil
		}
		o.touch(memory, first, 0)
		select {
		case <-ctx.Done():
			return fmt.Errorf("await the delivery of memory %s: %w", memory, ctx.Err())
		case <-moved:
		case <-time.After(awaitEvery):
		}
	}
}
