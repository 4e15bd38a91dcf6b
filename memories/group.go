package memories

import (
	"context"
	"slices"
	"time"

	"ctxfs/backing"
)

// task is a put_context or an add_entry in the queue of its memory. What
// stands behind one another there is done as a group (group commit): of
// several contexts the last one is written, and all entries share one append
// and one sync. After it was queued only the worker uses it.
type task struct {
	text *text // to be put, or

	entries []Entry // to be added
	given   []bool  // the entry came with its id
	at      time.Time
	lines   [][]byte // as they will be stored, from the first try on

	alone bool            // neither: a job that no group may stand around
	ended bool            // done has been called
	done  func(err error) // what its sender waits for; nil where it is alone
}

// submit queues t behind what was accepted for m before.
func (s *Memories) submit(ctx context.Context, m *memory, t *task) error {
	return s.queue.Submit(ctx, m.name, Job{
		Accepted: func() { m.join(t) },
		Run:      func(ctx context.Context) error { return s.turn(ctx, m, t) },
		Done:     func(err error) { m.end(t, err); m.release() },
	})
}

// alone runs a job behind those that were accepted for m before, and before
// those that come after, and returns its error.
func (s *Memories) alone(ctx context.Context, m *memory, run func(context.Context) error) error {
	t := &task{alone: true}
	return s.queue.Finish(ctx, m.name, Job{
		Accepted: func() { m.join(t) },
		Run:      run,
		Done:     func(err error) { m.end(t, err); m.release() },
		Patient:  true,
	})
}

// join notes that t has its place in the queue. A text is what readers see
// from then on.
func (m *memory) join(t *task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs++
	m.waiting = append(m.waiting, t)
	if t.text != nil {
		m.newest = t.text
	}
}

// end tells how t ended, if that has not been told.
func (m *memory) end(t *task, err error) {
	if t.ended {
		return
	}
	t.ended = true
	m.mu.Lock()
	m.waiting = slices.DeleteFunc(m.waiting, func(w *task) bool { return w == t })
	m.mu.Unlock()
	if t.done != nil {
		t.done(err)
	}
}

// group returns what waits, up to a job that stands alone.
func (m *memory) group() []*task {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := slices.IndexFunc(m.waiting, func(t *task) bool { return t.alone })
	if n < 0 {
		n = len(m.waiting)
	}
	return slices.Clone(m.waiting[:n])
}

// turn does t, whose turn it is, and with it those that wait behind it. What
// goes wrong with them is told in their own turn, and does not harm t: then it
// is done without them.
func (s *Memories) turn(ctx context.Context, m *memory, t *task) error {
	if group := m.group(); !t.ended && len(group) > 1 {
		if err := s.together(ctx, m, group); err != nil {
			s.o.Log.Debug("tasks of a memory are done one by one", "memory", m.name, "err", err)
		}
	}
	if t.ended {
		return nil
	}
	return s.together(ctx, m, []*task{t})
}

// together does a group in the order of the queue, as far as anybody can see:
// what a context replaces before it was written is not written, but the
// entries between them carry it.
func (s *Memories) together(ctx context.Context, m *memory, group []*task) error {
	if group[0].text == nil {
		if err := s.writeFailed(ctx, m); err != nil {
			return err // an entry without the context before it would be wrong
		}
	}
	group, err := s.compose(ctx, m, group)
	if err == nil {
		err = s.putNewest(ctx, m, group)
	}
	if err == nil {
		err = s.addAll(ctx, m, group)
	}
	return err
}

// maxGroup is how many bytes of lines are added at once, but for a single
// task that has more.
const maxGroup = 4 << 20

// compose makes the lines of the entries in group, each with the snapshot of
// its place in the queue, and returns the part of group that is not too long.
func (s *Memories) compose(ctx context.Context, m *memory, group []*task) ([]*task, error) {
	var snapshot []byte // what entries carry here; nil is that on the disk
	size := 0
	for i, t := range group {
		if t.text != nil {
			snapshot = snapshotOf(t.text.content)
			continue
		}
		if t.lines == nil {
			if snapshot == nil {
				var err error
				if snapshot, err = s.snapshot(ctx, m); err != nil {
					return nil, err
				}
			}
			for j, e := range t.entries {
				t.lines = append(t.lines, e.stored(t.at, t.given[j], snapshot))
			}
		}
		for _, line := range t.lines {
			size += len(line)
		}
		if i > 0 && size > maxGroup {
			return group[:i], nil
		}
	}
	return group, nil
}

// putNewest writes the last context document of group, with what those before
// it set of its metadata.
func (s *Memories) putNewest(ctx context.Context, m *memory, group []*task) error {
	var newest *text
	var before backing.AttrChange
	var puts []*task
	for _, t := range group {
		if t.text == nil {
			continue
		}
		if newest != nil {
			before = merged(before, newest.attr)
			before.ModTime = nil
		}
		newest, puts = t.text, append(puts, t)
	}
	if newest == nil {
		return nil
	}
	if err := s.writeText(ctx, m, newest, before); err != nil {
		return err
	}
	for _, t := range puts {
		m.end(t, nil)
	}
	return nil
}
