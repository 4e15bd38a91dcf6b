package joined

import (
	"context"
	"fmt"
	"io"
	"sync"

	"ctxfs/backing"
)

// upload is one of the local store. A put into the shared one copies it, and
// ends its use as the local store's own puts do.
type upload struct {
	backing.Upload

	mu   sync.RWMutex // held for writing by puts; guards done
	done error        // why it takes nothing more
}

var errConsumed = fmt.Errorf("the upload has been put: %w", backing.ErrReadOnly)

// NewUpload implements [backing.Store]: it lies here, wherever it is put.
func (s *Store) NewUpload(ctx context.Context) (backing.Upload, error) {
	up, err := s.local.NewUpload(ctx)
	if err != nil {
		return nil, err
	}
	return &upload{Upload: up}, nil
}

// Read is not for reading: it is what lets [backing.Store].Put take an upload,
// which looks for it first.
func (u *upload) Read(p []byte) (int, error) {
	return 0, fmt.Errorf("an upload is read by ReadAt: %w", errConsumed)
}

func (u *upload) WriteAt(p []byte, off int64) (int, error) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if u.done != nil {
		return 0, u.done
	}
	return u.Upload.WriteAt(p, off)
}

func (u *upload) Truncate(size int64) error {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if u.done != nil {
		return u.done
	}
	return u.Upload.Truncate(size)
}

func (u *upload) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done = errConsumed
	return u.Upload.Close()
}

// put gives the content to f, which is a put.
func (u *upload) put(local bool, f func(io.Reader) (backing.Meta, error)) (backing.Meta, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.done != nil {
		return backing.Meta{}, u.done
	}
	if r, ok := u.Upload.(io.Reader); ok && local {
		return f(r)
	}
	m, err := f(io.NewSectionReader(u.Upload, 0, u.Upload.Size()))
	if err == nil {
		u.done = errConsumed
	}
	return m, err
}
