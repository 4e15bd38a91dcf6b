package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/jackc/pgx/v5"
)

// The floor is a file system that does next to nothing: it answers from memory,
// decides nothing, and saves at a close just as the program beside it that needs
// no FUSE. It shows what the same requests cost on that machine, to a few parts in
// a hundred; what lies above it is ctxfs's own.
//
//	benchmark floor [-database postgres://…] STORE MOUNTPOINT
//
// It shows the files that STORE has when it starts. What is saved goes there
// too, or to the database by the bare statement.
func runFloor(args []string) error {
	flags := flag.NewFlagSet("floor", flag.ExitOnError)
	database := flags.String("database", "", "what is saved goes there")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("usage: benchmark floor [-database postgres://…] STORE MOUNTPOINT")
	}
	f := &floor{RawFileSystem: fuse.NewDefaultRawFileSystem(), nodes: map[string]uint64{}}
	if err := f.read(flags.Arg(0)); err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	if *database != "" {
		conn, err := pgx.Connect(context.Background(), *database)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		f.toDatabase = bareSaver(context.Background(), conn)
	}
	s, err := fuse.NewServer(f, flags.Arg(1), floorOptions)
	if err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0)) // as ctxfs does
	s.Serve()
	return nil
}

// floorOptions are those with which ctxfs mounts.
var floorOptions = &fuse.MountOptions{
	Name: "floor", DirectMount: true, MaxWrite: 1 << 20, MaxBackground: 64,
	DisableXAttrs: true, DisableSplice: true,
	ExtraCapabilities: fuse.CAP_ATOMIC_O_TRUNC | fuse.CAP_HANDLE_KILLPRIV_V2,
}

// forever is how long the kernel may keep what it was told.
const forever = time.Hour

// floor is that file system. One program saves at a time.
type floor struct {
	fuse.RawFileSystem
	toDatabase saver // nil: saved is the store's file

	mu    sync.RWMutex // guards what follows
	all   []*floorNode // the number of a node is its place here, and one
	nodes map[string]uint64
}

type floorNode struct {
	path    string // in the store
	attr    fuse.Attr
	members []string // of a directory, by path
	save    saver    // of a directory that is saved to
	written []byte
}

// read learns what the store holds. Nobody asks yet.
func (f *floor) read(store string) error {
	return filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".ctxfs" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := &floorNode{path: path}
		n.attr.FromStat(info.Sys().(*syscall.Stat_t))
		f.add(n)
		return nil
	})
}

// add gives n a number and a place in its directory. f.mu is held, or nobody
// asks yet.
func (f *floor) add(n *floorNode) {
	f.all = append(f.all, n)
	id := uint64(len(f.all))
	n.attr.Ino = id
	f.nodes[n.path] = id
	if dir, ok := f.nodes[filepath.Dir(n.path)]; ok {
		d := f.all[dir-1]
		d.members = append(d.members, n.path)
	}
}

func (f *floor) node(id uint64) *floorNode {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.all[id-1]
}

func (f *floor) entry(n *floorNode, out *fuse.EntryOut) {
	out.NodeId, out.Generation, out.Attr = n.attr.Ino, 1, n.attr
	out.SetEntryTimeout(forever)
	out.SetAttrTimeout(forever)
}

// Lookup implements [fuse.RawFileSystem], as do those below.
func (f *floor) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	path := filepath.Join(f.node(h.NodeId).path, name)
	f.mu.RLock()
	defer f.mu.RUnlock()
	id, ok := f.nodes[path]
	if !ok {
		return fuse.ENOENT
	}
	f.entry(f.all[id-1], out)
	return fuse.OK
}

// Forget implements nothing: nodes stay.
func (f *floor) Forget(nodeid, nlookup uint64) {}

// GetAttr answers what add was told.
func (f *floor) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	out.Attr = f.node(in.NodeId).attr
	out.SetTimeout(forever)
	return fuse.OK
}

// OpenDir lets the kernel keep the listing.
func (f *floor) OpenDir(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
	return fuse.OK
}

// ReadDir is not needed beside the other.
func (f *floor) ReadDir(_ <-chan struct{}, _ *fuse.ReadIn, _ *fuse.DirEntryList) fuse.Status {
	return fuse.ENOSYS
}

// ReadDirPlus lists with attributes.
func (f *floor) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	f.mu.RLock()
	defer f.mu.RUnlock()
	members := f.all[in.NodeId-1].members
	for i := int(in.Offset); i < len(members); i++ {
		n := f.all[f.nodes[members[i]]-1]
		e := out.AddDirLookupEntry(fuse.DirEntry{Name: filepath.Base(n.path), Mode: n.attr.Mode, Ino: n.attr.Ino})
		if e == nil {
			break
		}
		f.entry(n, e)
	}
	return fuse.OK
}

// Open is that of a reader, whose pages the kernel keeps, or of a program that
// saves anew.
func (f *floor) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if in.Flags&syscall.O_ACCMODE == syscall.O_RDONLY {
		out.OpenFlags = fuse.FOPEN_KEEP_CACHE | fuse.FOPEN_NOFLUSH
	} else {
		out.OpenFlags = fuse.FOPEN_DIRECT_IO
	}
	return fuse.OK
}

// Read reads the store's file.
func (f *floor) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	file, err := os.Open(f.node(in.NodeId).path)
	if err != nil {
		return nil, fuse.ToStatus(err)
	}
	defer file.Close()
	n, err := syscall.Pread(int(file.Fd()), buf, int64(in.Offset))
	return fuse.ReadResultData(buf[:max(n, 0)]), fuse.ToStatus(err)
}

// Mkdir makes a directory of the store.
func (f *floor) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	n := &floorNode{path: filepath.Join(f.node(in.NodeId).path, name)}
	if err := os.Mkdir(n.path, os.FileMode(in.Mode&0o777)); err != nil {
		return fuse.ToStatus(err)
	}
	n.attr.Mode = syscall.S_IFDIR | in.Mode&0o777
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(n)
	f.entry(n, out)
	return fuse.OK
}

// Create makes a file, which is nowhere until it is closed.
func (f *floor) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	n := &floorNode{path: filepath.Join(f.node(in.NodeId).path, name)}
	n.attr.Mode = syscall.S_IFREG | in.Mode&0o777
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(n)
	f.entry(n, &out.EntryOut)
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return fuse.OK
}

// Write takes the whole content at once.
func (f *floor) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	if in.Offset != 0 {
		return 0, fuse.EINVAL
	}
	f.node(in.NodeId).written = append([]byte(nil), data...)
	return uint32(len(data)), fuse.OK
}

// Flush saves.
func (f *floor) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	n := f.node(in.NodeId)
	save, err := f.saverOf(filepath.Dir(n.path))
	if err == nil {
		err = save(filepath.Base(n.path), n.written)
	}
	return fuse.ToStatus(err)
}

func (f *floor) saverOf(dir string) (saver, error) {
	if f.toDatabase != nil {
		return f.toDatabase, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.all[f.nodes[dir]-1]
	if n.save == nil {
		d, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		n.save = nativeSaver(dir, d)
	}
	return n.save, nil
}

// StatFs says that it serves.
func (f *floor) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.NameLen = 4096, 255
	return fuse.OK
}
