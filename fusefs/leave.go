package fusefs

import "time"

// leaving is how often it is looked whether files are still open.
const leaving = 100 * time.Millisecond

// Leave ends the service of a mount that is out of the tree. It may exist
// still: every mount namespace that was made meanwhile, for a container or a
// sandbox, has a copy, which the kernel keeps until that ends. Leave returns at
// once; [FS.Wait] returns as soon as no file is open, and whoever looks at a
// copy gets ENOTCONN when the process has ended. Further calls do nothing.
func (f *FS) Leave() {
	f.leave.Do(func() {
		go func() { // ends with the mount
			tick := time.NewTicker(leaving)
			defer tick.Stop()
			for f.inUse() {
				select {
				case <-tick.C:
				case <-f.ctx.Done():
					return
				}
			}
			close(f.left)
		}()
	})
}

// inUse reports whether a file is open.
func (f *FS) inUse() bool {
	if f.handles.count() > 0 {
		return true
	}
	for _, n := range f.tree.all() {
		n.mu.Lock()
		open := n.opens > 0
		n.mu.Unlock()
		if open {
			return true
		}
	}
	return false
}
