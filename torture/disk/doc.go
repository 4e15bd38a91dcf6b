// Package disk makes a block device that records what is written to it, and
// builds from the record what a loss of power would have left.
//
// The device is a loop device on the one file of a FUSE file system, which
// hands every write and every flush to the record. A disk may keep any part of
// what was written since the last flush, in any order; so a state of the disk
// after a crash is everything before a flush, and any subset of the writes
// after it.
//
// It needs root, /dev/loop-control and /dev/fuse.
package disk
