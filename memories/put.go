package memories

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
	"unicode/utf8"

	"ctxfs/backing"
)

// PutContext queues content as the new context document of memory, which it
// makes where it is missing, and returns: from then on [Memories.GetContext]
// gives it, and it is on disk when a later [Memories.AwaitConsistency]
// returns. *FullError (EAGAIN) where the queue stayed full, *codec.Refusal
// for a name or a content that is not accepted (reference/3, put_context).
func (s *Memories) PutContext(ctx context.Context, memory, content string) error {
	if err := CheckMemory(memory); err != nil {
		return err
	}
	_, err := s.put(ctx, memory, content, backing.AttrChange{})
	return err
}

// put queues content and returns what it is from now on.
func (s *Memories) put(ctx context.Context, memory, content string, attr backing.AttrChange) (*text, error) {
	if err := s.checkContent(memory, content); err != nil {
		return nil, err
	}
	if s.store.ReadOnly() {
		return nil, backing.ErrReadOnly
	}
	m := s.get(memory)
	defer m.release()
	if err := s.ensureDir(ctx, m); err != nil {
		return nil, err
	}
	t := &text{content: content, rev: s.nextRevision(), at: plainTime(s.o.Now()), attr: attr}
	if err := s.submit(ctx, m, &task{text: t, done: func(err error) { s.putEnded(m, t, err) }}); err != nil {
		return nil, err
	}
	s.changed(memory + "/" + contextFile)
	s.changed(memory + "/" + snapshotFile)
	return t, nil
}

// plainTime is t as a store returns times, so that a content looks the same
// queued and on disk.
func plainTime(t time.Time) time.Time { return time.Unix(t.Unix(), int64(t.Nanosecond())) }

func (s *Memories) putEnded(m *memory, t *text, err error) {
	if err != nil {
		m.couldNot(t, err)
		s.o.Log.Error("a context document is not on disk", "memory", m.name, "err", err)
	}
}

func (s *Memories) checkContent(memory, content string) error {
	if err := s.checkSize(memory, int64(len(content))); err != nil {
		return err
	}
	if n := s.o.MaxChars; n > 0 && len(content) > n && utf8.RuneCountInString(content) > n {
		return s.tooLong(memory, fmt.Sprintf("%d characters", n))
	}
	return nil
}

// checkSize refuses a length in bytes that no content within the limits has.
func (s *Memories) checkSize(memory string, size int64) error {
	if size > MaxContext {
		return s.tooLong(memory, fmt.Sprintf("%d MiB", MaxContext>>20))
	}
	if n := int64(s.o.MaxChars); n > 0 && size > n*utf8.UTFMax {
		return s.tooLong(memory, fmt.Sprintf("%d characters", n))
	}
	return nil
}

func (s *Memories) tooLong(memory, limit string) error {
	return refuse(syscall.EFBIG, memory+"/"+contextFile, "", "shorten it, or move parts of it into entries",
		"a context document has at most %s", limit)
}

// GetContext returns the newest acknowledged context document of memory,
// queued or on disk; backing.ErrNotFound where there is none
// (reference/3, get_context).
func (s *Memories) GetContext(ctx context.Context, memory string) (string, error) {
	if err := CheckMemory(memory); err != nil {
		return "", err
	}
	if t := s.look(memory).queued(); t != nil {
		return t.content, nil
	}
	content, err := s.readAll(ctx, s.key(memory, contextFile))
	if err != nil {
		return "", fmt.Errorf("read the context of memory %s: %w", memory, err)
	}
	return string(content), nil
}

// AwaitConsistency returns when everything that was queued for memory before
// is on disk, fsynced with its directory; its error says what is not
// (reference/3, Consistency Model).
func (s *Memories) AwaitConsistency(ctx context.Context, memory string) error {
	if err := CheckMemory(memory); err != nil {
		return err
	}
	m := s.look(memory)
	if m.idle() {
		return nil
	}
	err := s.queue.Do(ctx, memory, func(ctx context.Context) error { return s.writeFailed(ctx, m) })
	if err != nil {
		return fmt.Errorf("await memory %s: %w", memory, err)
	}
	return nil
}

// writeFailed tries once more to write what an earlier job could not.
func (s *Memories) writeFailed(ctx context.Context, m *memory) error {
	if t := m.unwritten(); t != nil {
		return s.writeText(ctx, m, t, backing.AttrChange{})
	}
	return nil
}

// readAll returns the content at key.
func (s *Memories) readAll(ctx context.Context, key backing.Key) (content []byte, err error) {
	return s.readRevision(ctx, key, "")
}

// readRevision returns the content at key that has the revision rev.
func (s *Memories) readRevision(ctx context.Context, key backing.Key, rev backing.Revision) (content []byte, err error) {
	c, err := s.store.Open(ctx, key, rev)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
}
