package fusefs

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ctxfs/room"
)

// FSType is what /proc/mounts shows: fuse.ctxfs.
const FSType = "ctxfs"

// Mount mounts the file system; it serves when Mount returns.
func Mount(o Options) (*FS, error) {
	f := newFS(o)
	server, err := fuse.NewServer(f, o.Mountpoint, f.mountOptions())
	if err != nil {
		f.cancel()
		return nil, fmt.Errorf("mount %s: %w", o.Mountpoint, err)
	}
	f.watch()
	f.wait.Go(func() { f.notify.run(f.ctx.Done()) })
	go func() { // Wait waits for it, unless the mount is left
		defer close(f.served)
		server.Serve()
	}()
	if err := server.WaitMount(); err != nil {
		return nil, errors.Join(fmt.Errorf("mount %s: %w", o.Mountpoint, err), server.Unmount())
	}
	return f, nil
}

func (f *FS) mountOptions() *fuse.MountOptions {
	return &fuse.MountOptions{
		AllowOther:    f.o.AllowOther,
		Options:       append(f.permissions(), f.o.Kernel...),
		FsName:        f.o.StoreName,
		Name:          FSType,
		DirectMount:   true,
		MaxWrite:      1 << 20,
		MaxBackground: 64,
		Debug:         f.o.Debug,
		Logger:        log.New(lines{f.log}, "", 0),
		// Locks of an entry hold between its versions and drafts, which
		// are different files to the kernel.
		EnableLocks:   true,
		DisableXAttrs: !f.anyXattrs(),
		DisableSplice: true, // contents are small; a pipe for each costs more than the copy
		// Without it `> file` would be an OPEN and then a SETATTR without
		// a handle, that does not say whose draft is meant.
		// And there are no suid bits to take away at a write, for which it
		// would ask for an attribute each time.
		ExtraCapabilities: fuse.CAP_ATOMIC_O_TRUNC | fuse.CAP_HANDLE_KILLPRIV_V2,
		PanicHandler:      f.panicked,
	}
}

// permissions leaves the checks of modes to the kernel where several users
// are served. One user alone is checked in permit.go: the kernel would ask for
// a directory's attributes after each file that is made in it.
func (f *FS) permissions() []string {
	if f.o.AllowOther {
		return []string{"default_permissions"}
	}
	return nil
}

// anyXattrs reports whether a room has extended attributes. Where none has,
// the kernel is told once and does not ask again.
func (f *FS) anyXattrs() bool {
	for _, r := range append(slices.Collect(maps.Values(f.o.Rooms)), f.o.Root) {
		if _, ok := r.(room.Xattrs); ok {
			return true
		}
	}
	return false
}

// panicked lets a mount outlive a defect in one request.
func (f *FS) panicked(v any) fuse.Status {
	f.stats.faults.Add(1)
	f.log.Error("a request panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	return fuse.EIO
}

// lines passes go-fuse's log on.
type lines struct{ log *slog.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.log.Debug(strings.TrimSpace(string(p)))
	return len(p), nil
}

// watch hears from every room what changed.
func (f *FS) watch() {
	hear := func(name string, r room.Room) {
		f.wait.Go(func() {
			err := r.Watch(f.ctx, func(path string, deep bool) { f.notify.changed(join(name, path), deep) })
			if err != nil && f.ctx.Err() == nil {
				f.log.Error("changes are no longer seen", "room", name, "err", err)
			}
		})
	}
	hear("", f.o.Root)
	for name, r := range f.o.Rooms {
		hear(name, r)
	}
}

// Unmount ends the mount and waits for its drafts. Where files are open it
// is EBUSY, and the mount stays.
func (f *FS) Unmount() error {
	if err := f.server.Unmount(); err != nil {
		return fmt.Errorf("unmount %s: %w", f.o.Mountpoint, err)
	}
	return nil
}

// Detach takes the mountpoint away at once; files that are open stay usable,
// and the mount ends with the last of them.
func (f *FS) Detach() error {
	f.detached.Store(true)
	if err := detach(f.o.Mountpoint); err != nil {
		return fmt.Errorf("detach %s: %w", f.o.Mountpoint, err)
	}
	return nil
}

// Wait returns when the mount has ended: by Unmount, by umount(8), when the
// last file of a detached one was closed, or by Leave.
func (f *FS) Wait() {
	select {
	case <-f.served:
	case <-f.left:
	}
	f.cancel()
	f.wait.Wait()
	f.finish()
}

// last is how long drafts may take to be committed after the kernel is gone:
// their RELEASE is answered in goroutines of the server's.
const last = 10 * time.Second

// finish closes what the kernel left open: it goes without waiting for the
// answers to its last RELEASEs. What is still a draft is decided.
func (f *FS) finish() {
	for _, h := range f.handles.all() {
		f.release(h)
	}
	for _, n := range f.tree.all() {
		n.reading.Lock()
		if n.content != nil {
			f.closed(n.content, "version")
			n.content = nil
		}
		n.reading.Unlock()
	}
	f.locks.close()
	done := make(chan struct{})
	go func() { f.drafts.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(last):
		f.log.Error("drafts are left undecided", "drafts", f.stats.drafts.Load())
	}
}

// detach is umount2 with MNT_DETACH, by fusermount3 for ordinary users.
func detach(mountpoint string) error {
	err := unix.Unmount(mountpoint, unix.MNT_DETACH)
	if errors.Is(err, syscall.EPERM) {
		return fusermount("-u", "-z", mountpoint)
	}
	return err
}
