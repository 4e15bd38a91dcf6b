package memories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ctxfs/backing"
)

// deadLetter is one line of the dead letters of a memory: an entry that the
// backend refused, why, and the line of entries.jsonl.
type deadLetter struct {
	Time   string `json:"time"`
	Key    string `json:"key"`
	Status int    `json:"status"` // of HTTP
	Reason string `json:"reason"`
	Line   string `json:"line"`
}

func deadKey(memory string) backing.Key { return OutboxDir.Join(memory).Join(deadFile) }

// park adds a line to the dead letters, durably.
func (o *outbox) park(b *box, key string, why *refusedError, line []byte) error {
	b.dead.Lock()
	defer b.dead.Unlock()
	letter, err := json.Marshal(deadLetter{Time: stamp(o.s.o.Now()), Key: key, Status: why.Status,
		Reason: why.Reason, Line: string(bytes.TrimSuffix(line, []byte("\n")))})
	if err != nil {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	if _, err := o.s.store.Append(o.ctx, deadKey(b.memory), append(letter, '\n')); err != nil {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	if err := o.s.store.Sync(o.ctx, deadKey(b.memory)); err != nil {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	o.mu.Lock()
	b.status.Parked++
	b.status.ParkedReason = why.Reason
	o.mu.Unlock()
	return nil
}

// loadDead counts the dead letters of an earlier run.
func (o *outbox) loadDead(ctx context.Context, b *box) error {
	letters, err := o.s.deadLetters(ctx, b.memory)
	if err != nil {
		return err
	}
	if n := len(letters); n > 0 {
		b.status.Parked, b.status.ParkedReason = n, letters[n-1].Reason
	}
	return nil
}

func (s *Memories) deadLetters(ctx context.Context, memory string) ([]deadLetter, error) {
	text, err := s.readAll(ctx, deadKey(memory))
	if errors.Is(err, backing.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the dead letters of memory %s: %w", memory, err)
	}
	var letters []deadLetter
	for line := range bytes.Lines(text) {
		var d deadLetter
		if json.Unmarshal(line, &d) == nil { // a crash can leave half a line at the end
			letters = append(letters, d)
		}
	}
	return letters, nil
}

// RetryParked puts the entries of memory that the backend refused back into
// the outbox, behind those that wait, and returns how many: after the
// backend, or what is said to it, has been mended.
func (s *Memories) RetryParked(ctx context.Context, memory string) (int, error) {
	if err := CheckMemory(memory); err != nil {
		return 0, err
	}
	if s.outbox == nil {
		return 0, errors.New("there is no backend")
	}
	n := 0
	err := s.queue.Do(ctx, memory, func(ctx context.Context) error {
		var err error
		n, err = s.outbox.unpark(ctx, memory)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("retry the parked entries of memory %s: %w", memory, err)
	}
	return n, nil
}

// unpark moves the dead letters into parcels. A crash in between leaves both,
// and so sends some twice with the same key.
func (o *outbox) unpark(ctx context.Context, memory string) (int, error) {
	o.mu.Lock()
	b := o.box(memory)
	o.mu.Unlock()
	b.dead.Lock()
	defer b.dead.Unlock()
	letters, err := o.s.deadLetters(ctx, memory)
	if err != nil || len(letters) == 0 {
		return 0, err
	}
	var parcels []parcel
	for i := 0; i < len(letters); i += maxParcel {
		var lines [][]byte
		for _, d := range letters[i:min(i+maxParcel, len(letters))] {
			lines = append(lines, []byte(d.Line+"\n"))
		}
		p, err := o.pack(ctx, memory, lines)
		if err != nil {
			return 0, err
		}
		parcels = append(parcels, p)
	}
	if err := o.s.store.Remove(ctx, deadKey(memory), ""); err != nil {
		return 0, err
	}
	o.mu.Lock()
	b.status.Parked, b.status.ParkedReason = 0, ""
	o.mu.Unlock()
	o.send(memory, parcels)
	return len(letters), nil
}
