package memories

import (
	"context"
	"strings"

	"ctxfs/backing"
)

// content is a content in memory.
type content struct{ *strings.Reader }

func inMemory(s string) backing.Content { return content{strings.NewReader(s)} }

func (content) Close() error { return nil }

// Read implements [room.Room].
func (s *Memories) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	p, err := placeOf(path)
	if err != nil {
		return nil, err
	}
	switch {
	case p.file == "":
		return nil, backing.ErrIsDir
	case CheckMemory(p.memory) != nil:
		return nil, backing.ErrNotFound
	case p.file == contextFile:
		return s.readContext(ctx, p.memory, rev)
	case p.file == snapshotFile:
		return s.readSnapshot(ctx, p.memory, rev)
	}
	return s.store.Open(ctx, s.scratchKey(p), rev)
}

func (s *Memories) readContext(ctx context.Context, memory string, rev backing.Revision) (backing.Content, error) {
	known := s.look(memory)
	// What is queued first: it is taken off the queue only when it is on disk.
	if t := known.queued(); t != nil && (rev == "" || rev == t.rev) {
		return inMemory(t.content), nil
	}
	stored, ok := known.storedAs(rev)
	if !ok {
		return nil, backing.ErrNotFound
	}
	c, err := s.store.Open(ctx, s.key(memory, contextFile), stored)
	return c, notThere(err)
}

// storedAs is the revision under which the store knows rev; ok is false where
// it does not. m may be nil.
func (m *memory) storedAs(rev backing.Revision) (stored backing.Revision, ok bool) {
	if !strings.HasPrefix(string(rev), queuedPrefix) {
		return rev, true
	}
	if m == nil {
		return "", false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored, m.shown == rev
}

func (s *Memories) readSnapshot(ctx context.Context, memory string, rev backing.Revision) (backing.Content, error) {
	of, queued := strings.CutPrefix(string(rev), snapshotPrefix)
	if t := s.look(memory).queued(); t != nil && (rev == "" || queued && of == string(t.rev)) {
		return inMemory(string(snapshotOf(t.content))), nil
	}
	if queued {
		// It has reached the disk meanwhile, or something newer has.
		c, err := s.readContext(ctx, memory, backing.Revision(of))
		if err != nil {
			return nil, err
		}
		if err := c.Close(); err != nil {
			return nil, err
		}
		rev = ""
	}
	c, err := s.store.Open(ctx, s.key(memory, snapshotFile), rev)
	return c, notThere(err)
}
