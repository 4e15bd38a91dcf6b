package memories

import (
	"context"
	"strings"

	"ctxfs/backing"
)

// changed tells every watcher that path is not what it was.
func (s *Memories) changed(path string) { s.watchers.Changed(path, false) }

// Watch implements [room.Room].
func (s *Memories) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	return s.watchers.Watch(ctx, s.store, s.hear, changed)
}

// hear announces what the store reports, where the room shows such a path.
func (s *Memories) hear(event backing.Event, announce func(path string, deep bool)) {
	if event.Kind == backing.Resync {
		announce("", true)
		return
	}
	if !event.Key.Under(s.top) || event.Key.Under(backing.Own) {
		return
	}
	path := strings.TrimPrefix(strings.TrimPrefix(string(event.Key), string(s.top)), "/")
	p, err := placeOf(path)
	if err != nil || p.memory != "" && CheckMemory(p.memory) != nil || isTmp(p.file) {
		return
	}
	announce(path, false)
}
