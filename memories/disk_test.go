package memories

import (
	"context"
	"io"
	"io/fs"
	"sync"
	"syscall"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

// disk is a real store that notes its calls and lets a test disturb them.
type disk struct {
	*localdir.Store
	mu    sync.Mutex
	calls []string
	hook  func(op string, key backing.Key) error // before the call; its error instead of it
	room  int                                    // an append of more bytes is ENOSPC; 0: no limit
}

func (d *disk) before(op string, key backing.Key) error {
	d.mu.Lock()
	d.calls = append(d.calls, op+" "+string(key))
	hook := d.hook
	d.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(op, key)
}

func (d *disk) disturb(hook func(op string, key backing.Key) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hook = hook
}

// limit leaves room for so many bytes in an append.
func (d *disk) limit(bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = bytes
}

func (d *disk) OpenFile(ctx context.Context, key backing.Key, flags int, mode fs.FileMode) (backing.File, error) {
	op := "read"
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		op = "open"
	}
	if err := d.before(op, key); err != nil {
		return nil, err
	}
	f, err := d.Store.OpenFile(ctx, key, flags, mode)
	if err != nil {
		return nil, err
	}
	return &diskFile{f, d, key}, nil
}

func (d *disk) Rename(ctx context.Context, from, to backing.Key, flags uint) error {
	if err := d.before("rename", to); err != nil {
		return err
	}
	return d.Store.Rename(ctx, from, to, flags)
}

func (d *disk) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	if err := d.before("put", key); err != nil {
		return backing.Meta{}, err
	}
	return d.Store.Put(ctx, key, r, o)
}

func (d *disk) Append(ctx context.Context, key backing.Key, data []byte) (backing.Meta, error) {
	if err := d.before("append", key); err != nil {
		return backing.Meta{}, err
	}
	d.mu.Lock()
	room := d.room
	d.mu.Unlock()
	if room > 0 && len(data) > room {
		return backing.Meta{}, syscall.ENOSPC
	}
	return d.Store.Append(ctx, key, data)
}

func (d *disk) Sync(ctx context.Context, key backing.Key) error {
	if err := d.before("sync", key); err != nil {
		return err
	}
	return d.Store.Sync(ctx, key)
}

func (d *disk) Remove(ctx context.Context, key backing.Key, rev backing.Revision) error {
	if err := d.before("remove", key); err != nil {
		return err
	}
	return d.Store.Remove(ctx, key, rev)
}

type diskFile struct {
	backing.File
	d   *disk
	key backing.Key
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.d.before("write", f.key); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *diskFile) Sync() error {
	if err := f.d.before("fsync", f.key); err != nil {
		return err
	}
	return f.File.Sync()
}
