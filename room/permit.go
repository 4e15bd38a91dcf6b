package room

// Permits reports whether the permission bits of i let c use it with the bits
// of mask: 4 to read, 2 to write, 1 to execute or search. Of c's groups only
// the first is known, so that a member by another one counts as any other
// user.
func (i Info) Permits(c Caller, mask uint32) bool {
	if c.UID == 0 && (mask&1 == 0 || i.Kind == Dir || i.Mode&0o111 != 0) {
		return true
	}
	bits := uint32(i.Mode)
	switch {
	case c.UID == i.UID:
		bits >>= 6
	case c.GID == i.GID:
		bits >>= 3
	}
	return mask&7&^bits == 0
}

// Of is c in the place of the user whose the file i is: what a rename makes of
// a file stays that user's, whoever renames it.
func (c Caller) Of(i Info) Caller {
	c.UID, c.GID = i.UID, i.GID
	return c
}
