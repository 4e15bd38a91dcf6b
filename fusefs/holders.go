package fusefs

import "slices"

// A close(2) is not the end of a draft while another descriptor of the same
// open exists: the copy that dup2 left in the closing process, the original
// in the shell whose child closes, a copy in a child of the process that
// closes. The descriptor that is being closed is gone from /proc already.

// held finds out whether the draft is still held for writing where that is
// likely: by the process that closes, by the one that opened, or by their
// children. It decides at every close, so it looks no further. What it returns
// waits for the answer.
func (f *FS) held(d *draft, closer uint32) func() bool {
	return begin(true, func() bool {
		ino := inoOf(f.tree.seed, d.place.full)
		// The opener first: most closers that it has not closed for are
		// its children, at their exec, where a look at them would wait.
		seen := []uint32{d.opener}
		if d.opener != closer {
			seen = append(seen, closer)
		}
		for i := 0; i < len(seen) && i < family; i++ {
			// A copy that a child is about to close by its exec is no reason
			// to let close(2) return before the entry is on disk. Should the
			// child write after all, that amends the commit.
			lasting := seen[i] != closer && seen[i] != d.opener
			if holdsForWriting(seen[i], d.name, ino, lasting) {
				return true
			}
			for _, child := range children(seen[i]) {
				// Who began before the draft inherited nothing of it, nor did
				// its own children: an agent may have dozens of those.
				if !slices.Contains(seen, child) && !beganBefore(child, d.began) {
					seen = append(seen, child)
				}
			}
		}
		return false
	})
}

// family is how many processes a close looks at.
const family = 64

// heldByAnyone looks at every process: it costs milliseconds, and only a
// refusal, which is not to be told too early, is worth them. One that does not
// answer is no family (held has asked those), and keeps no refusal back.
func (f *FS) heldByAnyone(d *draft) bool {
	ino := inoOf(f.tree.seed, d.place.full)
	for _, pid := range processes() {
		if within(false, func() bool { return holdsForWriting(pid, d.name, ino, false) }) {
			return true
		}
	}
	return false
}
