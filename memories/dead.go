package memories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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

func (o *outbox) deadKey(memory string) backing.Key { return o.dir().Join(memory).Join(deadFile) }

// park adds a line to the dead letters, durably. The last one may be the same
// already: of a try whose end was unknown, or of a host that died right after.
func (o *outbox) park(ctx context.Context, b *box, key string, why *refusedError, line []byte) error {
	b.letters.Lock()
	defer b.letters.Unlock()
	d := deadLetter{Time: stamp(o.s.o.Now()), Key: key, Status: why.Status,
		Reason: why.Reason, Line: string(bytes.TrimSuffix(line, []byte("\n")))}
	letter, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	tail, err := o.deadTail(ctx, b.memory, int64(len(letter))+otherReason)
	if err != nil {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	if last := parseLetters(tail); len(last) > 0 && last[len(last)-1].Line == d.Line {
		return o.loadDead(ctx, b)
	}
	if len(tail) > 0 && !bytes.HasSuffix(tail, []byte("\n")) { // a crash left half a line
		letter = append([]byte("\n"), letter...)
	}
	if _, err := o.s.store.Append(ctx, o.deadKey(b.memory), append(letter, '\n')); err != nil {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	if err := o.s.store.Sync(ctx, o.deadKey(b.memory)); err != nil {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	o.mu.Lock()
	b.status.Parked++
	b.status.ParkedReason = why.Reason
	o.mu.Unlock()
	return nil
}

// otherReason is by how much two letters about one entry may differ in length,
// in bytes: in what the backend said.
const otherReason = 4 << 10

// deadTail returns at most the last n bytes of the dead letters of memory.
func (o *outbox) deadTail(ctx context.Context, memory string, n int64) (tail []byte, err error) {
	c, err := o.s.store.Open(ctx, o.deadKey(memory), "")
	if errors.Is(err, backing.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	from := max(0, c.Size()-n)
	return io.ReadAll(io.NewSectionReader(c, from, c.Size()-from))
}

// loadDead counts the dead letters that are there.
func (o *outbox) loadDead(ctx context.Context, b *box) error {
	letters, _, err := o.deadLetters(ctx, b.memory)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	b.status.Parked, b.status.ParkedReason = len(letters), ""
	if n := len(letters); n > 0 {
		b.status.ParkedReason = letters[n-1].Reason
	}
	return nil
}

// deadLetters returns those of memory, and the revision of their file.
func (o *outbox) deadLetters(ctx context.Context, memory string) ([]deadLetter, backing.Revision, error) {
	key := o.deadKey(memory)
	for {
		m, err := o.s.store.Stat(ctx, key)
		if errors.Is(err, backing.ErrNotFound) {
			return nil, "", nil
		}
		var text []byte
		if err == nil {
			text, err = o.s.readRevision(ctx, key, m.Revision)
		}
		if errors.Is(err, backing.ErrNotFound) {
			continue // it has been changed meanwhile
		}
		if err != nil {
			return nil, "", fmt.Errorf("read the dead letters of memory %s: %w", memory, err)
		}
		return parseLetters(text), m.Revision, nil
	}
}

func parseLetters(text []byte) (letters []deadLetter) {
	for line := range bytes.Lines(text) {
		var d deadLetter
		if json.Unmarshal(line, &d) == nil { // a crash can leave half a line at the end
			letters = append(letters, d)
		}
	}
	return letters
}

// RetryParked has the entries of memory that the backend refused sent again,
// behind those that wait, and returns how many: after the backend, or what is
// said to it, has been mended. Where several hosts write the store they may be
// sent before those that wait.
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
	b.letters.Lock()
	defer b.letters.Unlock()
	for {
		letters, rev, err := o.deadLetters(ctx, memory)
		if err != nil || len(letters) == 0 {
			return 0, err
		}
		parcels, err := o.packLetters(ctx, memory, letters)
		if err == nil {
			err = o.s.store.Remove(ctx, o.deadKey(memory), rev)
		}
		if err == nil {
			o.mu.Lock()
			b.status.Parked, b.status.ParkedReason = 0, ""
			o.mu.Unlock()
			o.send(memory, parcels)
			return len(letters), nil
		}
		back := o.takeBack(parcels)
		if back != nil || !errors.Is(err, backing.ErrConflict) && !errors.Is(err, backing.ErrNotFound) {
			return 0, errors.Join(err, back)
		}
		// Another host has parked one more, or does the same.
	}
}

// packLetters puts what letters are about into parcels. After an error it
// returns what is there already.
func (o *outbox) packLetters(ctx context.Context, memory string, letters []deadLetter) (parcels []parcel, err error) {
	for i := 0; i < len(letters); i += maxParcel {
		var lines [][]byte
		for _, d := range letters[i:min(i+maxParcel, len(letters))] {
			lines = append(lines, []byte(d.Line+"\n"))
		}
		p, err := o.pack(ctx, memory, lines)
		if err != nil {
			return parcels, err
		}
		parcels = append(parcels, p)
	}
	return parcels, nil
}
