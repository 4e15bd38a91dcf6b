package disk

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Names in the recorder's file system: the disk itself, and a file whose every
// write becomes a Mark.
const (
	DiskName = "disk"
	MarkName = "mark"
)

// Serve mounts the recorder of a disk with content at dir, which writes its
// record to the file log, calls ready, and returns when it is unmounted. A
// write that has bad in it, where that is not empty, fails with EIO. It runs in
// a process of its own, that nothing else holds up.
func Serve(dir string, content []byte, log string, bad []byte, ready func()) error {
	out, err := os.Create(log)
	if err != nil {
		return fmt.Errorf("record a disk: %w", err)
	}
	rec := &recorder{content: content, out: out, bad: bad}
	server, err := fs.Mount(dir, &top{rec: rec}, &fs.Options{
		MountOptions: fuse.MountOptions{MaxWrite: 1 << 20, DirectMount: true, FsName: "recorded-disk", Name: "torture"},
	})
	if err != nil {
		return fmt.Errorf("record a disk: %w", err)
	}
	ready()
	server.Wait()
	if err := out.Close(); err != nil {
		return fmt.Errorf("record a disk: %w", err)
	}
	return nil
}

type recorder struct {
	bad []byte

	mu      sync.Mutex // guards what follows: the record has one order
	content []byte
	out     *os.File
}

func (r *recorder) add(rec Record) syscall.Errno {
	if err := rec.writeTo(r.out); err != nil {
		return syscall.EIO
	}
	return 0
}

type top struct {
	fs.Inode
	rec *recorder
}

func (t *top) OnAdd(ctx context.Context) {
	t.AddChild(DiskName, t.NewPersistentInode(ctx, &diskFile{rec: t.rec}, fs.StableAttr{}), true)
	t.AddChild(MarkName, t.NewPersistentInode(ctx, &markFile{rec: t.rec}, fs.StableAttr{}), true)
}

type diskFile struct {
	fs.Inode
	rec *recorder
}

var (
	_ fs.NodeOpener    = (*diskFile)(nil)
	_ fs.NodeReader    = (*diskFile)(nil)
	_ fs.NodeWriter    = (*diskFile)(nil)
	_ fs.NodeFsyncer   = (*diskFile)(nil)
	_ fs.NodeAllocater = (*diskFile)(nil)
)

func (d *diskFile) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o600, uint64(len(d.rec.content))
	return 0
}

func (d *diskFile) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0 // no page cache between the loop device and the record
}

func (d *diskFile) Read(ctx context.Context, f fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	d.rec.mu.Lock()
	defer d.rec.mu.Unlock()
	if off >= int64(len(d.rec.content)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(dest[:copy(dest, d.rec.content[off:])]), 0
}

func (d *diskFile) Write(ctx context.Context, f fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	d.rec.mu.Lock()
	defer d.rec.mu.Unlock()
	if off+int64(len(data)) > int64(len(d.rec.content)) {
		return 0, syscall.ENOSPC
	}
	if len(d.rec.bad) > 0 && bytes.Contains(data, d.rec.bad) {
		return 0, syscall.EIO
	}
	copy(d.rec.content[off:], data)
	return uint32(len(data)), d.rec.add(Record{Write, off, data})
}

func (d *diskFile) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	d.rec.mu.Lock()
	defer d.rec.mu.Unlock()
	return d.rec.add(Record{Kind: Flush})
}

// Allocate answers requests to zero or discard a range, which the loop device
// makes of such requests of the file system.
func (d *diskFile) Allocate(ctx context.Context, f fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	return syscall.EOPNOTSUPP
}

type markFile struct {
	fs.Inode
	rec *recorder
}

func (m *markFile) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (m *markFile) Write(ctx context.Context, f fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	m.rec.mu.Lock()
	defer m.rec.mu.Unlock()
	return uint32(len(data)), m.rec.add(Record{Mark, 0, data})
}
