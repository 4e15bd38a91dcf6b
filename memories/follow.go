package memories

import (
	"context"
	"errors"

	"ctxfs/backing"
)

// follow touches the memories that other hosts add to, until the outbox
// closes: what a host leaves that does not deliver, or is gone, is this one's.
func (o *outbox) follow() {
	for attempt := 1; ; attempt++ {
		followed, err := o.hear()
		if o.ctx.Err() != nil {
			return
		}
		if followed {
			attempt = 1
		}
		o.s.o.Log.Warn("what other hosts add to memories is looked for anew", "err", err)
		if o.pause(o.ctx, attempt, err) != nil {
			return
		}
	}
}

// fromNowhere is a token that no store has given, and so brings a Resync: what
// was there before is looked at once.
const fromNowhere = "nowhere"

// hear is follow until something fails; followed says that it had begun.
func (o *outbox) hear() (followed bool, err error) {
	ctx, stop := context.WithCancel(o.ctx)
	events, err := o.s.store.Watch(ctx, fromNowhere)
	if err != nil {
		stop()
		return false, err
	}
	defer func() {
		stop()
		for range events { // must be read until it is closed
		}
	}()
	for event := range events {
		if event.Kind == backing.Resync {
			if err := o.scan(); err != nil {
				return true, err
			}
		} else if dir := event.Key.Dir(); event.Key.Name() == entriesFile && dir.Dir() == o.s.top && CheckMemory(dir.Name()) == nil {
			o.touch(dir.Name(), false, o.poll())
		}
	}
	return true, errors.New("the store tells of no more changes")
}

// scan touches the memories of which something waits, or was refused.
func (o *outbox) scan() error {
	return o.s.each(o.ctx, DeliveriesDir, func(d backing.Meta) error {
		if !d.Dir || CheckMemory(d.Key.Name()) != nil {
			return nil
		}
		v, err := o.s.survey(o.ctx, d.Key.Name())
		if err != nil || v.waits() || v.dead != "" {
			o.touch(d.Key.Name(), false, 0) // whose status says what is wrong
		}
		return o.ctx.Err()
	})
}
