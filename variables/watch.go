package variables

import (
	"context"
	"strings"

	"ctxfs/backing"
)

// Watch is that of [room.Room], with paths in [Variables.Room]. Nothing is
// told of self: it is different for each caller and should not be cached.
func (v *Variables) Watch(ctx context.Context, changed func(path string, deep bool)) error {
	return v.watchers.Watch(ctx, v.store, v.hear, changed)
}

// hear announces what the store reports of this room.
func (v *Variables) hear(event backing.Event, announce func(path string, deep bool)) {
	if event.Kind == backing.Resync && backing.IsShared(v.store) {
		v.labels.forgetAll()
	}
	if event.Kind == backing.Resync || event.Key == roomDir {
		announce("", true)
		return
	}
	path, ours := strings.CutPrefix(string(event.Key), roomDir+"/")
	if !ours {
		return
	}
	if scope, key, deep := strings.Cut(path, "/"); deep {
		if backing.IsShared(v.store) {
			v.labels.forget(Scope(scope)) // first: what is known holds a label
		}
		v.known.forget(name{Scope(scope), key})
	}
	announce(path, false)
}
