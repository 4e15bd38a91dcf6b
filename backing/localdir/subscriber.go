package localdir

import (
	"context"
	"strconv"

	"ctxfs/backing"
	"ctxfs/backing/fanout"
)

// subscribe runs sub until ctx or the store ends; false where it has.
func (w *watches) subscribe(ctx context.Context, sub *fanout.Queue) bool {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	if w.closed {
		return false
	}
	if w.add == nil {
		w.start()
	}
	w.mu.Lock()
	w.subs[sub] = true
	w.mu.Unlock()
	w.running.Go(func() {
		sub.Pump(ctx, w.done)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.subs, sub)
	})
	return true
}

func (w *watches) tell(ev backing.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	ev.Token = strconv.FormatUint(w.seq, 10)
	for sub := range w.subs {
		sub.Add(ev)
	}
}
