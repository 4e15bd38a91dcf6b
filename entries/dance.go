package entries

import (
	"context"
	"fmt"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

const (
	// DanceTime is how long an entry that was renamed to a backup name stays
	// hidden at most, while nothing follows.
	DanceTime = 10 * time.Second
	// dancePoll is how often the renaming processes are looked after.
	dancePoll = 100 * time.Millisecond
)

// dance is an entry hidden by a rename to a backup name: vim and emacs rename
// the file, create it anew, write it and remove the backup (design 3.6). The
// entry itself never leaves the store.
type dance struct {
	pid   uint32
	until time.Time
}

// beginDance copies the entry at from to the backup name to, and hides it.
func (e *Entries) beginDance(ctx context.Context, c room.Caller, from, to place, flags uint) error {
	if to.depth != from.depth || to.dir != from.dir {
		return e.deny(c, &codec.Refusal{Errno: syscall.EPERM, Path: from.path,
			Reason: "an entry stays in its directory", Fix: "copy it (cp) instead of moving it"})
	}
	m, err := e.store.Stat(ctx, from.key())
	if err != nil {
		return err
	}
	content, err := e.store.Open(ctx, from.key(), m.Revision)
	if err != nil {
		return fmt.Errorf("copy %s to its backup: %w", from.path, err)
	}
	defer content.Close()
	o := backing.PutOptions{Mode: readable(m.Mode), ModTime: m.ModTime}
	if flags&unix.RENAME_NOREPLACE != 0 {
		o.If = backing.Absent
	}
	backup, err := e.store.Put(ctx, to.key(), io.NewSectionReader(content, 0, content.Size()), o)
	if err != nil {
		return fmt.Errorf("copy %s to its backup: %w", from.path, err)
	}
	e.own(ctx, c.Of(room.Info{UID: m.UID, GID: m.GID}), backup)
	e.mu.Lock()
	e.dances[from.path] = dance{pid: c.PID, until: e.now().Add(DanceTime)}
	e.mu.Unlock()
	select {
	case e.dancing <- struct{}{}:
	default:
	}
	e.changed(from.path)
	e.changed(to.path)
	return nil
}

// hidden reports whether the entry at path is in a dance.
func (e *Entries) hidden(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, ok := e.dances[path]
	return ok && e.now().Before(d.until)
}

// show ends the dance of the entry at path.
func (e *Entries) show(path string) {
	e.mu.Lock()
	_, ok := e.dances[path]
	delete(e.dances, path)
	e.mu.Unlock()
	if ok {
		e.changed(path)
	}
}

// pollDances ends the dances whose process or time has ended. It sleeps while
// there are none.
func (e *Entries) pollDances(ctx context.Context) {
	tick := time.NewTicker(dancePoll)
	defer tick.Stop()
	for {
		wake := tick.C
		if !e.anyDance() {
			wake = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-e.dancing:
			tick.Reset(dancePoll)
		case <-wake:
			e.endDances()
		}
	}
}

func (e *Entries) anyDance() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.dances) > 0
}

func (e *Entries) endDances() {
	e.mu.Lock()
	dances := make(map[string]dance, len(e.dances))
	for path, d := range e.dances {
		dances[path] = d
	}
	e.mu.Unlock()
	for path, d := range dances {
		if !e.now().Before(d.until) || d.pid != 0 && !e.o.Alive(d.pid) {
			e.showIf(path, d)
		}
	}
}

// showIf ends the dance d, not one that began meanwhile.
func (e *Entries) showIf(path string, d dance) {
	e.mu.Lock()
	same := e.dances[path] == d
	if same {
		delete(e.dances, path)
	}
	e.mu.Unlock()
	if same {
		e.changed(path)
	}
}
