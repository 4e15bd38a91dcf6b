package fusefs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

// Write writes to a draft or a Plain file.
func (f *FS) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	f.stats.writes.Add(1)
	switch h := f.handles.get(in.Fh).(type) {
	case draftHandle:
		return h.write(f, in, data)
	case *plainFile:
		n, err := h.write(in, data)
		if n > 0 {
			err = nil // a short write; the rest is tried again and says why
		}
		return uint32(n), f.status("write", h.node.name, err)
	case *workFile:
		return uint32(len(data)), h.ask(data)
	}
	return 0, fuse.EBADF
}

func (h *plainFile) write(in *fuse.WriteIn, data []byte) (int, error) {
	if lines, ok := h.File.(room.Appender); ok && in.Flags&appending != 0 {
		return lines.Append(data)
	}
	return h.WriteAt(data, int64(in.Offset))
}

// Writev is not offered: go-fuse calls Write.
func (f *FS) Writev(cancel <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS
}

// Fsync makes what was written durable: for a draft that is its commit, and
// what its room does for durability beyond that.
func (f *FS) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	switch h := f.handles.get(in.Fh).(type) {
	case draftHandle:
		if st := h.draft.told(f.decide(h.draft)); !st.Ok() {
			return st
		}
		return f.status("fsync", h.place.full, h.Sync())
	case *plainFile:
		return f.status("fsync", h.node.name, h.Sync())
	}
	return fuse.OK
}

// Fallocate allocates in Plain files. Of a draft nothing is on disk before
// its commit, which reports a full disk itself; only the size matters.
func (f *FS) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	switch h := f.handles.get(in.Fh).(type) {
	case *plainFile:
		err := unix.Fallocate(int(h.Fd()), in.Mode, int64(in.Offset), int64(in.Length))
		return f.status("fallocate", h.node.name, err)
	case draftHandle:
		end := int64(in.Offset + in.Length)
		switch {
		case in.Mode == unix.FALLOC_FL_KEEP_SIZE || in.Mode == 0 && end <= h.Size():
			return fuse.OK
		case in.Mode == 0:
			return f.status("fallocate", h.place.full, h.truncate(f, &in.InHeader, end))
		}
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	return fuse.EBADF
}

// CopyFileRange copies between Plain files in the store. Everything else is
// answered EXDEV, upon which the kernel reads and writes.
func (f *FS) CopyFileRange(cancel <-chan struct{}, in *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	from, ok1 := f.handles.get(in.FhIn).(*plainFile)
	to, ok2 := f.handles.get(in.FhOut).(*plainFile)
	if !ok1 || !ok2 {
		return 0, fuse.Status(syscall.EXDEV)
	}
	offIn, offOut := int64(in.OffIn), int64(in.OffOut)
	n, err := unix.CopyFileRange(int(from.Fd()), &offIn, int(to.Fd()), &offOut, int(in.Len), 0)
	return uint32(n), f.status("copy", to.node.name, err)
}

// StatFs is that of the disk under the store.
func (f *FS) StatFs(cancel <-chan struct{}, h *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	files, ok := f.o.Store.(backing.Files)
	if !ok {
		out.Bsize, out.NameLen = blockSize, 255
		return fuse.OK
	}
	s, err := files.StatFS(f.request(cancel))
	if err != nil {
		return f.status("statfs", "", err)
	}
	out.Bsize, out.Frsize = s.BlockSize, s.BlockSize
	out.Blocks, out.Bfree, out.Bavail = s.Blocks, s.Free, s.Available
	out.Files, out.Ffree, out.NameLen = s.Files, s.FreeFiles, s.NameLen
	return fuse.OK
}
