// Package room holds what a room of the mount is: the small interface between
// fusefs, which knows requests of the kernel, and the rooms (entries,
// variables, results, memories, invocations), which know what files mean.
//
// A [Room] is a tree of names. What stands under a name is described by an
// [Info] and is one of these kinds:
//
//   - Dir: a directory.
//   - Object: content with revisions. It is read at one revision by
//     [Room.Read], and written only through a [Draft], which becomes the next
//     revision when it is committed. Readers never see a draft.
//   - Plain: an ordinary file, read and written in place.
//   - Link: a symbolic link.
//   - Virtual: content that the room makes when it is asked, small and
//     read-only.
//
// Paths are relative to the room, "" is its top. The errors are those of
// package backing, *codec.Refusal where a rule says no and the writer should
// learn why, or a syscall.Errno.
//
// Rooms don't know each other. What they share is here: the memory and upload
// behind a draft ([Buffer]), and the journal of refusals ([Journal]).
package room
