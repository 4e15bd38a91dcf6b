package entries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

const (
	rejEnd  = ".rej"
	maxName = 255      // bytes, NAME_MAX
	rejHead = 64 << 10 // bytes, more than the explanation takes
	// rejNames is how many drafts of one entry, refused to different
	// agents, lie side by side.
	rejNames = 8
)

// withPath fills the entry's path into a refusal of the codec.
func withPath(err error, path string) error {
	var r *codec.Refusal
	if !errors.As(err, &r) || r.Path != "" {
		return err
	}
	told := *r
	told.Path = path
	return &told
}

// refusalOf is err as a refusal; a fault of the store is told like one.
func refusalOf(err error, path string) codec.Refusal {
	var r *codec.Refusal
	if errors.As(withPath(err, path), &r) {
		return *r
	}
	told := codec.Refusal{Errno: syscall.EIO, Path: path, Reason: "the store could not take it: " + err.Error(),
		Fix: "write the entry again when the store works; the draft is kept beside it if there was room"}
	errors.As(err, &told.Errno)
	return told
}

// deny notes a refusal that has no draft and returns it.
func (e *Entries) deny(c room.Caller, err error) error {
	var r *codec.Refusal
	if errors.As(err, &r) {
		e.journal(*r, c)
	}
	return err
}

func (e *Entries) journal(r codec.Refusal, c room.Caller) {
	e.o.Log.Info("refused", "path", r.Path, "errno", r.Errno.Error(), "field", r.Field, "line", r.Line, "reason", r.Reason)
	if e.o.Journal == nil {
		return
	}
	e.o.Journal.Refuse(r, c, e.now())
	if err := e.o.Journal.Err(); err != nil {
		e.o.Log.Warn("refusals are remembered in memory only", "err", err)
	}
}

// Refuse implements [room.Draft]: the draft goes to the .rej beside the
// entry, the reason to the journal, once for each reason.
func (d *draft) Refuse(ctx context.Context, err error) {
	if err == nil {
		return
	}
	d.commit.Lock()
	defer d.commit.Unlock()
	d.mu.Lock()
	r, by, gen := refusalOf(err, d.p.path), d.by, d.gen
	if d.told[r] && d.kept == gen+1 {
		d.mu.Unlock()
		return
	}
	first := !d.told[r]
	d.told[r] = true
	if loadErr := d.load(); loadErr != nil {
		d.e.o.Log.Error("a refused draft has lost the old version's part", "path", d.p.path, "err", loadErr)
	}
	content, readErr := d.buf.Bytes()
	d.mu.Unlock()
	if first {
		d.e.journal(r, by)
	}
	if readErr != nil {
		d.e.o.Log.Error("a refused draft cannot be read", "path", d.p.path, "err", readErr)
		return
	}
	if d.e.keepReject(ctx, d.p, &r, content, by, d.opened.Mode) {
		d.mu.Lock()
		d.kept = gen + 1
		d.mu.Unlock()
	}
}

// keepReject writes content, refused for r, beside the entry at p, and
// reports whether it is there.
func (e *Entries) keepReject(ctx context.Context, p place, r *codec.Refusal, content []byte, by room.Caller, mode fs.FileMode) bool {
	ctx = context.WithoutCancel(ctx)
	name, err := e.freeReject(ctx, p, by)
	if err == nil {
		err = e.putReject(ctx, name, codec.RejFile(r, content), by, mode)
	}
	if err != nil {
		e.o.Log.Error("a refused draft is not kept", "path", p.path, "err", err)
		return false
	}
	e.changed(name)
	return true
}

func (e *Entries) putReject(ctx context.Context, name string, text []byte, by room.Caller, mode fs.FileMode) error {
	m, err := e.store.Put(ctx, backing.Key(name), bytes.NewReader(text), backing.PutOptions{Mode: readable(mode) | 0o200})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	e.own(ctx, by, m)
	e.mu.Lock()
	e.rejectOf[name] = by.Agent
	e.mu.Unlock()
	return nil
}

// freeReject returns the path for the refused draft of by: one that is free, or
// holds an older draft of the same agent and user. A file of that name which
// is not a refused draft (patch leaves such ones too), or is another's, stays.
func (e *Entries) freeReject(ctx context.Context, p place, by room.Caller) (string, error) {
	for n := 1; ; n++ {
		path := rejPath(p, n)
		uid, ours, err := e.isReject(ctx, path)
		if errors.Is(err, backing.ErrNotFound) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		e.mu.Lock()
		of, known := e.rejectOf[path]
		e.mu.Unlock()
		mine := by.PID == 0 || uid == by.UID
		if ours && mine && (!known || of == by.Agent || n >= rejNames) {
			return path, nil
		}
		if n > 2*rejNames {
			return "", fmt.Errorf("no free name for the refused draft of %s", p.path)
		}
	}
}

// isReject reports whether the file at path is a refused draft that this room
// left, and whose it is; ErrNotFound where there is nothing.
func (e *Entries) isReject(ctx context.Context, path string) (uid uint32, ok bool, err error) {
	m, err := backing.StatCached(ctx, e.store, backing.Key(path))
	if err != nil {
		return 0, false, err
	}
	if m.Dir || m.Link || m.Special {
		return m.UID, false, nil
	}
	c, err := e.store.Open(ctx, m.Key, "")
	if err != nil {
		return 0, false, err
	}
	defer c.Close()
	head := make([]byte, min(c.Size(), rejHead))
	if n, err := c.ReadAt(head, 0); err != nil && n < len(head) {
		return 0, false, fmt.Errorf("read %s: %w", path, err)
	}
	_, ok = codec.RejDraft(head)
	return m.UID, ok, nil
}

// removeRejects removes the refused drafts of the entry at p, which has got a
// valid version.
func (e *Entries) removeRejects(ctx context.Context, p place) {
	for n := 1; n <= 2*rejNames; n++ {
		path := rejPath(p, n)
		_, ours, err := e.isReject(ctx, path)
		if errors.Is(err, backing.ErrNotFound) {
			return
		}
		if err == nil && ours {
			err = e.store.Remove(ctx, backing.Key(path), "")
		}
		if err != nil && !errors.Is(err, backing.ErrNotFound) {
			e.o.Log.Warn("a refused draft stays beside its entry", "path", path, "err", err)
			continue
		}
		e.mu.Lock()
		delete(e.rejectOf, path)
		e.mu.Unlock()
		if ours {
			e.changed(path)
		}
	}
}

// rejPath is where the nth refused draft of the entry at p lies: its name and
// ".rej", for others ".2.rej". A name too long for that is cut, and told apart
// by a checksum of the whole.
func rejPath(p place, n int) string {
	end := rejEnd
	if n > 1 {
		end = fmt.Sprintf(".%d%s", n, rejEnd)
	}
	name := p.name + end
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(p.name))
		end = fmt.Sprintf("~%x.md%s", sum[:4], end)
		name = strings.TrimSuffix(p.name, ".md")[:maxName-len(end)] + end
	}
	return string(backing.Key(p.dir).Join(name))
}
