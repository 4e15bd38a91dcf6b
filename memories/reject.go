package memories

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// Refuse implements [room.Draft]: the content goes to context.md.rej, the
// reason to the journal.
func (d *draft) Refuse(ctx context.Context, err error) {
	if err == nil {
		return
	}
	d.commit.Lock()
	defer d.commit.Unlock()
	d.mu.Lock()
	r := d.refusal(err)
	first := !d.told[r.Reason]
	d.told[r.Reason] = true
	if lerr := d.load(); lerr != nil {
		d.s.o.Log.Error("a refused draft has lost the old version's part", "path", d.p.path, "err", lerr)
	}
	content, rerr := d.buf.Bytes()
	by, mode := d.by, d.opened.Mode
	d.mu.Unlock()
	if first {
		d.s.journal(r, by)
	}
	if rerr == nil {
		rerr = d.s.keepReject(ctx, d.p, &r, content, by, mode)
	}
	if rerr != nil {
		d.s.o.Log.Error("a refused draft is not kept", "path", d.p.path, "err", rerr)
	}
}

// refusal is err as a refusal; a full queue or a fault is told like one.
func (d *draft) refusal(err error) codec.Refusal {
	var r *codec.Refusal
	if errors.As(err, &r) {
		return *r
	}
	told := *refuse(syscall.EIO, d.p.path, "", "write it again", "it could not be queued: %v", err)
	errors.As(err, &told.Errno)
	return told
}

func (s *Memories) keepReject(ctx context.Context, p place, r *codec.Refusal, content []byte, by room.Caller, mode fs.FileMode) error {
	ctx = context.WithoutCancel(ctx)
	m, err := s.store.Put(ctx, s.key(p.memory, p.file+rejEnd), bytes.NewReader(codec.RejFile(r, content)), backing.PutOptions{Mode: mode.Perm() | 0o600})
	if err != nil {
		return err
	}
	s.give(ctx, by, m)
	s.changed(p.path + rejEnd)
	return nil
}

// removeReject removes the refused draft of a document that has got a new
// version, if it is one that keepReject left.
func (s *Memories) removeReject(ctx context.Context, p place) {
	key := s.key(p.memory, contextFile+rejEnd)
	text, err := s.readAll(ctx, key)
	if err == nil {
		if _, ours := codec.RejDraft(text); !ours {
			return
		}
		err = s.store.Remove(ctx, key, "")
		s.changed(p.memory + "/" + contextFile + rejEnd)
	}
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		s.o.Log.Warn("a refused draft stays", "path", key, "err", err)
	}
}
