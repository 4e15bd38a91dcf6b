package variables

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// rejEnd ends the key of what is left of a refused draft: an ordinary
// variable beside the one that it was meant for.
const rejEnd = ".rej"

// rejNames is how many files in its way a refused draft steps around.
const rejNames = 8

// rejName is the nth place for the refused draft of n. A key too long for
// that is cut, and told apart by a checksum of the whole.
func rejName(n name, nth int) name {
	end := rejEnd
	if nth > 1 {
		end = fmt.Sprintf(".%d%s", nth, rejEnd)
	}
	if len(n.key)+len(end) <= MaxKey {
		return name{n.scope, n.key + end}
	}
	sum := sha256.Sum256([]byte(n.key))
	end = fmt.Sprintf("~%x%s", sum[:4], end)
	return name{n.scope, cutBytes(n.key, MaxKey-len(end)) + end}
}

// keepReject writes the draft, refused for r, beside n. Its stripe is not
// held. A file there that is no refused draft (patch leaves such ones too)
// stays.
func (v *Variables) keepReject(ctx context.Context, n name, r *codec.Refusal, draft *room.Buffer, by room.Caller, mode fs.FileMode) error {
	ctx = context.WithoutCancel(ctx)
	for nth := 1; nth <= rejNames; nth++ {
		done, err := v.keepRejectAt(ctx, rejName(n, nth), r, draft, by, mode)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("there is no free name for it: %w", backing.ErrExists)
}

func (v *Variables) keepRejectAt(ctx context.Context, at name, r *codec.Refusal, draft *room.Buffer, by room.Caller, mode fs.FileMode) (done bool, err error) {
	defer v.lock(at)()
	ours, err := v.isReject(ctx, at)
	if err == nil && ours && by.PID != 0 {
		old, serr := v.state(ctx, at)
		ours, err = serr != nil || old.uid == by.UID, serr
	}
	if err == nil && !ours {
		return false, nil
	}
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return false, err
	}
	content, err := v.read(ctx, io.MultiReader(newBytes(codec.RejFile(r, nil)), draft.Reader()))
	if err != nil {
		return false, err
	}
	_, err = v.put(ctx, value{name: at, content: content, typ: Text, by: by, mode: mode&^0o022 | 0o600})
	if err = errors.Join(err, content.close()); err != nil {
		return false, err
	}
	v.watchers.Changed(at.path(), false)
	return true, nil
}

// isReject reports whether n is a refused draft that this room left.
func (v *Variables) isReject(ctx context.Context, n name) (bool, error) {
	c, err := v.open(ctx, n, "")
	if err != nil {
		return false, err
	}
	defer c.Close()
	head := make([]byte, min(c.Size(), 4096))
	if _, err := c.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	_, ok := codec.RejDraft(head)
	return ok, nil
}

// removeRejects removes the refused drafts of n, which has got a valid value.
// Their stripes are not held.
func (v *Variables) removeRejects(ctx context.Context, n name) {
	for nth := 1; nth <= rejNames; nth++ {
		there, err := v.removeReject(ctx, rejName(n, nth))
		if err != nil {
			v.o.Log.Warn("a refused draft stays beside its variable", "path", n.path(), "err", err)
		}
		if !there {
			return
		}
	}
}

func (v *Variables) removeReject(ctx context.Context, at name) (there bool, err error) {
	if _, err := v.committed(ctx, at); errors.Is(err, backing.ErrNotFound) {
		return false, nil
	}
	defer v.lock(at)()
	ours, err := v.isReject(ctx, at)
	if err == nil && ours {
		err = v.remove(ctx, at)
		v.watchers.Changed(at.path(), false)
	}
	if errors.Is(err, backing.ErrNotFound) {
		err = nil
	}
	return true, err
}
