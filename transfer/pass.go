package transfer

import (
	"context"
	"fmt"
	"sync"

	"ctxfs/backing"
)

// pass goes once through both stores.
type pass struct {
	src, dst Store
	o        Options
	first    bool // believes sizes and times; the others read what they compare
	slots    chan struct{}
	cancel   context.CancelCauseFunc

	mu      sync.Mutex // guards what follows, and calls of Options.Progress and LeftOut
	stats   Stats
	at      Progress
	changes int // what was not the same, or changed while it was looked at
	extra   ExtraError
}

func newPass(src, dst Store, o Options, first bool) *pass {
	stage := Comparing
	if first {
		stage = Copying
	}
	return &pass{src: src, dst: dst, o: o, first: first, slots: make(chan struct{}, o.Workers-1), at: Progress{Stage: stage}}
}

func (p *pass) run(ctx context.Context) error {
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.cancel = cancel
	for _, dir := range []backing.Key{"", backing.Own} {
		p.members(work, dir, func(s, d *backing.Meta) bool {
			key := keyOf(s, d)
			part := key != markKey && p.o.Part(key)
			if !part && s != nil && dir == "" {
				p.leftOut(s.Key, "it is no part of the store")
			}
			return part
		})
	}
	p.versions(work)
	if work.Err() != nil {
		return context.Cause(work)
	}
	return nil
}

// fail ends the pass with err.
func (p *pass) fail(err error) {
	if err != nil {
		p.cancel(err)
	}
}

// spawn runs f beside its caller where there is a slot, else at once. So a
// directory waits for those in it without holding a slot that they need.
func (p *pass) spawn(wg *sync.WaitGroup, f func()) {
	select {
	case p.slots <- struct{}{}:
		wg.Go(func() {
			defer func() { <-p.slots }()
			f()
		})
	default:
		f()
	}
}

// members goes through a directory of both stores, in the order of names, and
// returns when all below it is done. of is nil for all members.
func (p *pass) members(ctx context.Context, dir backing.Key, of func(s, d *backing.Meta) bool) {
	var wg sync.WaitGroup
	defer wg.Wait()
	from, to := &lister{store: p.src, dir: dir}, &lister{store: p.dst, dir: dir}
	s, err := from.next(ctx)
	if err != nil {
		p.fail(fmt.Errorf("list the source: %w", err))
		return
	}
	d, err := to.next(ctx)
	for ; err == nil && ctx.Err() == nil && (s != nil || d != nil); err = p.advance(ctx, from, to, &s, &d) {
		source, there := pair(s, d)
		if of == nil || of(source, there) {
			p.spawn(&wg, func() { p.fail(p.member(ctx, source, there)) })
		}
	}
	p.fail(err)
}

// pair is what of s and d is next: both where they have one name.
func pair(s, d *backing.Meta) (_, _ *backing.Meta) {
	switch {
	case s == nil || d == nil || s.Key == d.Key:
		return s, d
	case s.Key.Name() < d.Key.Name():
		return s, nil
	}
	return nil, d
}

func keyOf(s, d *backing.Meta) backing.Key {
	if s != nil {
		return s.Key
	}
	return d.Key
}

// advance goes on behind the pair that was next.
func (p *pass) advance(ctx context.Context, from, to *lister, s, d **backing.Meta) error {
	source, there := pair(*s, *d)
	var err error
	if source != nil {
		if *s, err = from.next(ctx); err != nil {
			return fmt.Errorf("list the source: %w", err)
		}
	}
	if there != nil {
		if *d, err = to.next(ctx); err != nil {
			return fmt.Errorf("list the destination: %w", err)
		}
	}
	return nil
}

// member makes the member of a directory in the destination, d, what it is in
// the source, s. One of them may be nil.
func (p *pass) member(ctx context.Context, s, d *backing.Meta) error {
	switch {
	case s == nil:
		return p.superfluous(ctx, *d)
	case s.Special:
		p.leftOut(s.Key, "it is a special file")
		return nil
	case d != nil && (s.Dir != d.Dir || s.Link != d.Link || d.Special):
		if err := p.superfluous(ctx, *d); err != nil || !p.o.Delete {
			return err
		}
		d = nil
	}
	switch {
	case s.Dir:
		return p.directory(ctx, *s, d)
	case s.Link:
		return p.link(ctx, *s, d)
	}
	return p.object(ctx, *s, d)
}

// changed notes that the two were not the same.
func (p *pass) changed(count *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	if count != nil {
		*count++
	}
}

// copied notes that size bytes were not the same.
func (p *pass) copied(count *int, size int64) {
	p.changed(count)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Bytes += size
}

func (p *pass) leftOut(key backing.Key, why string) {
	if !p.first || p.o.LeftOut == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.o.LeftOut(key, why)
}

// looking tells of a new object.
func (p *pass) looking(key backing.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at.Objects++
	p.at.Key = key
	p.tell()
}

// read tells of n bytes more.
func (p *pass) read(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at.Bytes += int64(n)
	p.tell()
}

func (p *pass) tell() {
	if p.o.Progress != nil {
		p.o.Progress(p.at)
	}
}
