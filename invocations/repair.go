package invocations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/codec"
)

// MaxReject is how long the .rej grows, in bytes; what is refused after that
// is not kept until it is removed. A line that a crash cut off is kept in any
// case.
const MaxReject = 1 << 20

// repair mends the end of the file, where a crash may have left a part of a
// line: one that lacks only its end gets it, another is moved to the .rej. A
// crash in between moves it there twice.
func (h *History) repair(ctx context.Context) error {
	c, err := h.store.Open(ctx, fileKey, "")
	if errors.Is(err, backing.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	torn, err := tornEnd(c)
	if err != nil || torn == 0 {
		return err
	}
	tail := io.NewSectionReader(c, c.Size()-torn, torn)
	if torn <= MaxLine {
		line, err := io.ReadAll(tail)
		if err != nil {
			return err
		}
		if _, _, err := parse(line); err == nil {
			_, err = h.store.Append(ctx, fileKey, []byte("\n"))
			return errors.Join(err, h.store.Sync(ctx, fileKey))
		}
		tail = io.NewSectionReader(c, c.Size()-torn, torn)
	}
	h.o.Log.Warn("the last line was cut off by a crash and is moved away", "path", file, "bytes", torn, "to", rejKey)
	if err := h.keepTorn(ctx, tail); err != nil {
		return err
	}
	return h.cut(ctx, c, c.Size()-torn)
}

// tornEnd is the length of what stands behind the last line end.
func tornEnd(c backing.Content) (int64, error) {
	buf := make([]byte, backStep)
	for end := c.Size(); end > 0; {
		n := min(backStep, end)
		if got, err := c.ReadAt(buf[:n], end-n); int64(got) < n {
			return 0, fmt.Errorf("read the end of %s: %w", file, err)
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return c.Size() - (end - n + int64(i) + 1), nil
		}
		end -= n
	}
	return c.Size(), nil
}

// keepTorn adds a line that was cut off to the .rej, durably.
func (h *History) keepTorn(ctx context.Context, tail io.Reader) error {
	r := codec.Refusal{Errno: syscall.EINVAL, Path: file, Reason: "a crash cut this line off", Fix: "complete it and append it again"}
	if _, err := h.store.Append(ctx, rejKey, []byte(rejHead(&r))); err != nil {
		return err
	}
	buf := make([]byte, backStep)
	for {
		n, err := tail.Read(buf)
		if n > 0 {
			if _, err := h.store.Append(ctx, rejKey, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if _, err := h.store.Append(ctx, rejKey, []byte("\n\n")); err != nil {
		return err
	}
	return h.store.Sync(ctx, rejKey)
}

// cut makes the file size bytes long, durably.
func (h *History) cut(ctx context.Context, c backing.Content, size int64) error {
	files, ok := h.store.(backing.Files)
	if !ok {
		_, err := h.store.Put(ctx, fileKey, io.NewSectionReader(c, 0, size), backing.PutOptions{})
		return err
	}
	f, err := files.OpenFile(ctx, fileKey, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}

// rejHead explains, in comment lines, the text that follows it.
func rejHead(r *codec.Refusal) string {
	wrong := r.Reason
	if r.Field != "" {
		wrong = r.Field + ": " + wrong
	}
	return fmt.Sprintf("# ctxfs refused this for %s: %s\n# wrong: %s\n# to mend: %s\n# Append it, mended, to the file; remove this one when it is done with.\n\n",
		r.Path, unix.ErrnoName(r.Errno), wrong, r.Fix)
}

// keepReject adds what was refused to the .rej.
func (h *History) keepReject(ctx context.Context, r *codec.Refusal, text []byte) {
	ctx = context.WithoutCancel(ctx)
	h.rej.Lock()
	defer h.rej.Unlock()
	m, err := h.store.Stat(ctx, rejKey)
	if err == nil && m.Size+int64(len(text)) > MaxReject || errors.Is(err, backing.ErrNotFound) && len(text) > MaxReject {
		h.o.Log.Warn("a refused line is not kept: the file for them is full", "path", rejKey, "bytes", m.Size)
		return
	}
	piece := append([]byte(rejHead(r)), bytes.TrimRight(text, "\n")...)
	if _, err := h.store.Append(ctx, rejKey, append(piece, "\n\n"...)); err != nil {
		h.o.Log.Error("a refused line is not kept", "path", rejKey, "err", err)
	}
}
