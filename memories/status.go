package memories

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"ctxfs/backing"
)

// Status is what waits to be done.
type Status struct {
	Queues     []int         `json:"queues"`     // jobs that wait, a shard each
	QueueLimit int           `json:"queueLimit"` // of each queue
	Unwritten  []Unwritten   `json:"unwritten"`  // contexts that could not be written
	Outbox     *OutboxStatus `json:"outbox"`     // null without a backend
}

// Unwritten is an acknowledged context document that is only in memory,
// because the disk did not take it. It is tried again with the next job of
// its memory, with AwaitConsistency, and with Close.
type Unwritten struct {
	Memory string `json:"memory"`
	Error  string `json:"error"`
}

// OutboxStatus is what the backend has not got.
type OutboxStatus struct {
	Backend string      `json:"backend"` // the URL's template, without user and password
	Pending int         `json:"pending"` // entries to be delivered
	Parked  int         `json:"parked"`  // entries that it refused
	Boxes   []BoxStatus `json:"boxes"`   // of the memories that have such
}

// BoxStatus is the outbox of one memory. Where several hosts write the store, what
// is pending and parked is that of all, as of a moment ago; the rest is of this
// host, which may not be the one that delivers.
type BoxStatus struct {
	Memory    string     `json:"memory"`
	Pending   int        `json:"pending"`
	Delivered int        `json:"delivered"`           // by this process
	Attempts  int        `json:"attempts"`            // of the first pending entry that failed in a row
	LastError string     `json:"lastError,omitempty"` // of these
	Since     *time.Time `json:"since,omitempty"`     // they fail
	Parked    int        `json:"parked"`
	// ParkedReason is why the last of them was refused.
	ParkedReason string `json:"parkedReason,omitempty"`
}

// Status counts without reading the store.
func (s *Memories) Status() Status {
	st := Status{Queues: s.queue.Depths(), QueueLimit: s.queue.o.Queue, Unwritten: []Unwritten{}}
	for _, m := range s.all() {
		m.mu.Lock()
		if m.failed != nil {
			st.Unwritten = append(st.Unwritten, Unwritten{m.name, m.why.Error()})
		}
		m.mu.Unlock()
	}
	slices.SortFunc(st.Unwritten, func(a, b Unwritten) int { return cmp.Compare(a.Memory, b.Memory) })
	if s.outbox != nil {
		st.Outbox = s.outbox.describe()
	}
	return st
}

func (o *outbox) describe() *OutboxStatus {
	st := &OutboxStatus{Backend: o.url.redacted(), Boxes: []BoxStatus{}}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.boxes {
		one := b.status
		one.Pending = len(b.ends)
		for _, p := range b.parcels {
			one.Pending += p.lines
		}
		st.Pending += one.Pending
		st.Parked += one.Parked
		if one.Pending > 0 || one.Parked > 0 {
			st.Boxes = append(st.Boxes, one)
		}
	}
	slices.SortFunc(st.Boxes, func(a, b BoxStatus) int { return cmp.Compare(a.Memory, b.Memory) })
	return st
}

// Meta describes a memory in a list.
type Meta struct {
	Memory     string    `json:"memory"`
	HasContext bool      `json:"hasContext"`
	SizeBytes  int64     `json:"sizeBytes"`  // of the newest acknowledged context
	Modified   time.Time `json:"modified"`   // of it; of the directory where there is none
	EntryBytes int64     `json:"entryBytes"` // of entries.jsonl
}

// ListMemories returns all memories in the order of their names, without
// contents.
func (s *Memories) ListMemories(ctx context.Context) ([]Meta, error) {
	list := []Meta{}
	err := s.each(ctx, s.top, func(d backing.Meta) error {
		name := d.Key.Name()
		if !d.Dir || CheckMemory(name) != nil {
			return nil
		}
		m := Meta{Memory: name, Modified: d.ModTime.UTC()}
		doc, err := s.statContext(ctx, name)
		switch {
		case err == nil:
			m.HasContext, m.SizeBytes, m.Modified = true, doc.Size, doc.ModTime.UTC()
		case !absent(err):
			return fmt.Errorf("list memories: %w", err)
		}
		entries, err := s.store.Stat(ctx, s.key(name, entriesFile))
		switch {
		case err == nil:
			m.EntryBytes = entries.Size
		case !absent(err):
			return fmt.Errorf("list memories: %w", err)
		}
		list = append(list, m)
		return nil
	})
	return list, err
}
