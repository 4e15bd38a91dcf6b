package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"ctxfs/backing"
)

// unsettled are the puts of which nobody could learn whether they happened, by
// their operation. Another try of one begins with that question: where it
// happened, others may have overwritten it since, so that the object does not
// say so. The zero value holds none. Safe for concurrent use.
type unsettled struct {
	mu sync.Mutex // guards of
	of map[string]id
}

// add remembers that wrote, a try of the operation op, may have happened. What
// is so old that the database does not know it any more is forgotten.
func (u *unsettled) add(op string, wrote id, keep time.Duration) {
	if op == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = make(map[string]id)
	}
	for op, id := range u.of {
		if age(id) > keep {
			delete(u.of, op)
		}
	}
	u.of[op] = wrote
}

func (u *unsettled) find(op string) (wrote id, found bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	wrote, found = u.of[op]
	return wrote, found
}

func (u *unsettled) settle(op string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, op)
}

// age is the time since id was made, by this host's clock.
func age(id id) time.Duration {
	var ms [8]byte
	copy(ms[2:], id[:6])
	return time.Since(time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))))
}

// earlier asks what became of an earlier try of the same operation, if there
// was one whose end is unknown. Where it did not happen it never will.
func (p *put) earlier(ctx context.Context) (done bool, m backing.Meta, err error) {
	wrote, found := p.s.unsettled.find(p.o.Op)
	if !found {
		return false, m, nil
	}
	happened, err := p.s.resolve(ctx, p.key, wrote)
	if err == nil && happened {
		m, err = p.written(ctx, wrote)
	}
	if err != nil {
		return false, m, fmt.Errorf("%w: %w", backing.ErrUnknown, err)
	}
	p.s.unsettled.settle(p.o.Op)
	p.s.listings.Mark(p.key) // it may not have been heard of
	return happened, m, nil
}
