package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/backing"
)

// passthroughFrom is the size in bytes from which a version is read by the
// kernel from the store's file itself. For smaller ones handing over the
// descriptor costs more than it saves; and the kernel keeps no pages of a
// node that is read so.
const passthroughFrom = 4 << 20

func (f *FS) wantsPassthrough(n *node) bool {
	return !f.noPassthrough.Load() && n.describe().Size >= passthroughFrom
}

// passthrough gives the kernel the file behind n's version, which is open. It
// takes it from root only, and where the content lies in a file. All opens of
// a node are of one kind, as the kernel wants it: a version's size never
// changes, and the first answer is remembered.
func (f *FS) passthrough(n *node, out *fuse.OpenOut) {
	if !f.wantsPassthrough(n) {
		return
	}
	n.reading.Lock()
	defer n.reading.Unlock()
	if n.backingID == 0 && !n.cachedReads {
		n.backingID = f.register(n.content)
		n.cachedReads = n.backingID == 0
	}
	if n.backingID == 0 {
		return
	}
	out.BackingID = n.backingID
	out.OpenFlags = fuse.FOPEN_PASSTHROUGH | fuse.FOPEN_NOFLUSH
}

// register returns the kernel's number for the file of content, 0 where there
// is none, or the kernel refuses.
func (f *FS) register(content backing.Content) int32 {
	file, ok := content.(interface{ Fd() uintptr })
	if !ok {
		return 0
	}
	id, errno := f.server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(file.Fd())})
	if errno != 0 {
		f.noPassthrough.Store(true)
		f.log.Debug("large files are read through the daemon", "errno", errno.Error())
		return 0
	}
	return id
}

// unregister takes the file back. n.reading is held.
func (f *FS) unregister(n *node) {
	if n.backingID == 0 {
		return
	}
	if errno := f.server.UnregisterBackingFd(n.backingID); errno != 0 {
		f.log.Error("a file of the store stays with the kernel", "errno", errno.Error())
	}
	n.backingID = 0
}
