package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// rejHead is more than the explanation in a refused draft takes, in bytes.
const rejHead = 64 << 10

// refusalOf is err as a refusal; a fault of the store is told like one.
func refusalOf(err error, name string) codec.Refusal {
	var r *codec.Refusal
	if errors.As(withPath(err, name), &r) {
		return *r
	}
	told := codec.Refusal{Errno: syscall.EIO, Path: path(name), Reason: "the store could not take it: " + err.Error(),
		Fix: "write the result again when the store works"}
	errors.As(err, &told.Errno)
	return told
}

func (r *Results) journal(refusal codec.Refusal, c room.Caller) {
	r.o.Log.Info("refused", "path", refusal.Path, "errno", refusal.Errno.Error(), "field", refusal.Field, "line", refusal.Line, "reason", refusal.Reason)
	if r.o.Journal == nil {
		return
	}
	r.o.Journal.Refuse(refusal, c, r.o.Now())
	if err := r.o.Journal.Err(); err != nil {
		r.o.Log.Warn("refusals are remembered in memory only", "err", err)
	}
}

// keepReject leaves a refused draft beside the result, in <name>.rej; a later
// one of the same name takes its place. It reports whether it is there.
func (r *Results) keepReject(ctx context.Context, name string, refusal *codec.Refusal, draft body, by room.Caller, mode fs.FileMode) bool {
	ctx = context.WithoutCancel(ctx)
	at := name + rejEnd
	text := io.MultiReader(newMemoryContent(codec.RejFile(refusal, nil)).(io.Reader), reader(draft))
	m, err := r.store.Put(ctx, key(at), text, backing.PutOptions{Mode: mode.Perm() | 0o600})
	if err == nil && by.PID != 0 && m.UID != by.UID {
		_, err = r.store.SetAttr(ctx, key(at), backing.AttrChange{UID: &by.UID, GID: &by.GID})
	}
	if err != nil {
		r.o.Log.Error("a refused draft is not kept", "path", path(name), "err", err)
		return false
	}
	r.index.noteReject(at, true)
	r.watch.Changed(at, false)
	return true
}

// dropReject removes the refused draft of a result that is valid now.
func (r *Results) dropReject(ctx context.Context, name string) {
	at := name + rejEnd
	if !r.index.noteReject(at, false) {
		return
	}
	if err := r.unlink(context.WithoutCancel(ctx), key(at)); err != nil {
		r.o.Log.Warn("a refused draft stays beside its result", "path", path(at), "err", err)
		return
	}
	r.watch.Changed(at, false)
}

// mended is the draft in b, where b is a refused draft that this room left,
// otherwise b: a mended .rej that is moved to its result's name is that.
func mended(b body) (body, error) {
	head := make([]byte, min(b.Size(), rejHead))
	if n, err := b.ReadAt(head, 0); n < len(head) {
		return nil, fmt.Errorf("read a file that becomes a result: %w", err)
	}
	draft, ok := codec.RejDraft(head)
	if !ok {
		return b, nil
	}
	skip := int64(len(head) - len(draft))
	return io.NewSectionReader(b, skip, b.Size()-skip), nil
}
