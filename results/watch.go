package results

import (
	"context"

	"ctxfs/backing"
)

// Watch implements [room.Room].
func (m *resultsRoom) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	return m.r.watch.Watch(ctx, m.r.store, hear, changed)
}

// hear announces what the store reports of the ordinary files. Results are the
// index's: it tells of them itself.
func hear(e backing.Event, announce func(path string, deep bool)) {
	switch {
	case e.Kind == backing.Resync:
		announce("", true)
	case e.Key.Dir() == roomDir && !isResult(e.Key.Name()):
		announce(e.Key.Name(), false)
	}
}
