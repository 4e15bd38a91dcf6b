package memories

import (
	"context"
	"math/rand/v2"
	"time"
)

// The waits of a [Backoff] that says nothing else.
const (
	DefaultBackoff    = 100 * time.Millisecond
	DefaultMaxBackoff = 20 * time.Second
)

// Backoff is how long to wait between attempts: First after the first, twice
// as long after each further one, Max at most; of that between a half and the
// whole, so that what failed together is not tried again together.
type Backoff struct {
	First, Max time.Duration
	// Rand returns numbers in [0,1); nil is math/rand/v2.
	Rand func() float64
	// Sleep waits for d or the end of ctx, whose error it returns; nil
	// sleeps by the system's clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

func (b Backoff) orDefault() Backoff {
	if b.First <= 0 {
		b.First = DefaultBackoff
	}
	if b.Max <= 0 {
		b.Max = DefaultMaxBackoff
	}
	if b.Rand == nil {
		b.Rand = rand.Float64
	}
	if b.Sleep == nil {
		b.Sleep = sleep
	}
	return b
}

// after is the wait after the given attempt, the first of which is 1.
func (b Backoff) after(attempt int) time.Duration {
	d := b.First
	for i := 1; i < attempt && d < b.Max; i++ {
		d *= 2
	}
	d = min(d, b.Max)
	return d/2 + time.Duration(b.Rand()*float64(d-d/2))
}

func (b Backoff) wait(ctx context.Context, attempt int) error {
	return b.Sleep(ctx, b.after(attempt))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
