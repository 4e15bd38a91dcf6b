package fusefs

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

// Read reads from an open file.
func (f *FS) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	f.stats.reads.Add(1)
	n := f.tree.get(in.NodeId)
	if n == nil {
		return nil, fuse.EBADF
	}
	if w, ok := f.handles.get(in.Fh).(*workFile); ok {
		got, st := w.read(cancel, buf)
		if !st.Ok() {
			return nil, st // beside a result it would not count
		}
		return fuse.ReadResultData(buf[:got]), fuse.OK
	}
	_, _, p := f.tree.where(n)
	r, err := f.source(f.request(cancel), n, p, in.Fh)
	if err != nil {
		return nil, f.status("read", p.full, err)
	}
	got, err := readAt(r, buf, int64(in.Offset))
	if err != nil {
		return nil, f.status("read", p.full, err)
	}
	return fuse.ReadResultData(buf[:got]), fuse.OK
}

// source is what the handle reads from.
func (f *FS) source(ctx context.Context, n *node, p place, fh uint64) (io.ReaderAt, error) {
	switch h := f.handles.get(fh).(type) {
	case draftHandle:
		return h, nil
	case *plainFile:
		return h, nil
	case *fixedFile:
		return h, nil
	}
	return f.reader(ctx, n, p)
}

// reader returns the content of n's version, opened at the first call.
func (f *FS) reader(ctx context.Context, n *node, p place) (io.ReaderAt, error) {
	n.reading.Lock()
	defer n.reading.Unlock()
	return f.content(ctx, n, p)
}

// content is reader for callers that hold n.reading.
func (f *FS) content(ctx context.Context, n *node, p place) (io.ReaderAt, error) {
	err := f.openContent(ctx, n, p)
	if errors.Is(err, backing.ErrNotFound) {
		n.content, err = f.successor(ctx, n, p)
	}
	return n.content, err
}

// version opens the content of n's version; backing.ErrNotFound where that is
// kept nowhere.
func (f *FS) version(ctx context.Context, n *node, p place) error {
	n.reading.Lock()
	defer n.reading.Unlock()
	return f.openContent(ctx, n, p)
}

// openContent is version for callers that hold n.reading.
func (f *FS) openContent(ctx context.Context, n *node, p place) error {
	if n.content != nil {
		return nil
	}
	content, err := p.room.Read(ctx, p.path(), n.describe().Revision)
	if err == nil {
		n.content = content
	}
	return err
}

// keepOpened opens the content of the version that a name leads to, where
// somebody has it open and has not read from it, before it is replaced or
// removed: a room may keep no copy of it.
func (f *FS) keepOpened(dir *node, name string) {
	n := f.tree.find(dir, name)
	if n == nil {
		return
	}
	n.reading.Lock() // the last close, which closes the content, waits
	defer n.reading.Unlock()
	n.mu.Lock()
	opened := n.opens > 0 && n.draft == nil && n.info.Kind == room.Object
	n.mu.Unlock()
	if !opened {
		return
	}
	_, _, p := f.tree.where(n)
	if _, err := f.content(f.ctx, n, p); err != nil {
		f.log.Warn("a reader loses the version that it has open", "path", p.full, "err", err)
	}
}

// successor is what a reader gets whose version was replaced by another
// program, directly in the store, before its first READ: the new content. The
// kernel is made to ask for the size before the next READ, so that it does
// not take the old one for the end.
func (f *FS) successor(ctx context.Context, n *node, p place) (backing.Content, error) {
	content, err := p.room.Read(ctx, p.path(), "")
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.info.Size = content.Size()
	n.mu.Unlock()
	f.notify.attributes(n)
	return content, nil
}

// Lseek finds holes and data in Plain files; all else has no holes.
func (f *FS) Lseek(cancel <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	n := f.tree.get(in.NodeId)
	if n == nil {
		return fuse.EBADF
	}
	if h, ok := f.handles.get(in.Fh).(*plainFile); ok {
		off, err := unix.Seek(int(h.Fd()), int64(in.Offset), int(in.Whence))
		out.Offset = uint64(off)
		return f.status("seek", n.name, err)
	}
	size := uint64(n.describe().Size)
	switch {
	case in.Offset >= size:
		return fuse.Status(syscall.ENXIO)
	case in.Whence == unix.SEEK_HOLE:
		out.Offset = size
	default:
		out.Offset = in.Offset
	}
	return fuse.OK
}
