package fusefs

import (
	"time"

	"ctxfs/room"
)

// echoAfter is after what time a name is announced once more. The answer to a
// LOOKUP may reach the kernel after an announcement that was made later, since
// it is written when its handler has returned: then the kernel would keep, for
// hours, what was true before.
const echoAfter = 100 * time.Millisecond

// echo announces name in dir once more, later. Announcements until then share
// one echo, and have another one after it.
func (t *notifier) echo(dir *node, name string) {
	s := slot{dir.id, name}
	t.mu.Lock()
	_, pending := t.again[s]
	t.again[s] = pending
	t.mu.Unlock()
	if !pending {
		time.AfterFunc(echoAfter, func() { t.sound(dir, name) })
	}
}

func (t *notifier) sound(dir *node, name string) {
	s := slot{dir.id, name}
	t.mu.Lock()
	again := t.again[s]
	if again {
		t.again[s] = false
	} else {
		delete(t.again, s)
	}
	t.mu.Unlock()
	// A directory may be somebody's working directory by now, see stays.
	if n := t.f.tree.find(dir, name); n == nil || n.describe().Kind != room.Dir {
		t.later(dir, name)
	}
	if again {
		time.AfterFunc(echoAfter, func() { t.sound(dir, name) })
	}
}
