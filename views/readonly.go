package views

import (
	"context"
	"io/fs"
	"syscall"

	"ctxfs/backing"
	"ctxfs/room"
)

// readOnly refuses every change, and has none to tell of: what is here is
// Volatile, and asked for each time.
type readOnly struct{}

func (readOnly) Write(context.Context, room.Caller, string, room.Create) (room.File, room.Info, error) {
	return nil, room.Info{}, syscall.EROFS
}
func (readOnly) MakeDir(context.Context, room.Caller, string, fs.FileMode) (room.Info, error) {
	return room.Info{}, syscall.EROFS
}
func (readOnly) RemoveDir(context.Context, room.Caller, string) error { return syscall.EROFS }
func (readOnly) Remove(context.Context, room.Caller, string) error    { return syscall.EROFS }
func (readOnly) Rename(context.Context, room.Caller, string, string, uint) error {
	return syscall.EROFS
}
func (readOnly) SetAttr(context.Context, room.Caller, string, backing.AttrChange) (room.Info, error) {
	return room.Info{}, syscall.EROFS
}
func (readOnly) Symlink(context.Context, room.Caller, string, string) (room.Info, error) {
	return room.Info{}, syscall.EROFS
}
func (readOnly) Watch(ctx context.Context, _ func(string, bool)) error {
	<-ctx.Done()
	return nil
}
