package entries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"ctxfs/backing"
	"ctxfs/room"
)

// unknownTries bounds how often a put is repeated with its operation id.
const unknownTries = 4

// version is what the store holds under an entry's name now.
type version struct {
	meta    backing.Meta
	content []byte
	exists  bool
}

// current reads what is stored at p. Revisions may change between the look
// and the open, which is tried again.
func (e *Entries) current(ctx context.Context, p place) (version, error) {
	for try := 0; ; try++ {
		m, err := e.store.Stat(ctx, p.key())
		if errors.Is(err, backing.ErrNotFound) {
			return version{}, nil
		}
		if err != nil {
			return version{}, err
		}
		if kind, _ := p.kindOf(m); kind != room.Object || m.Link {
			return version{}, backing.ErrNotRegular
		}
		content, err := e.readAll(ctx, p.key(), m.Revision)
		if errors.Is(err, backing.ErrNotFound) && try < conflictTries {
			continue
		}
		return version{meta: m, content: content, exists: true}, err
	}
}

func (e *Entries) readAll(ctx context.Context, key backing.Key, rev backing.Revision) ([]byte, error) {
	c, err := e.store.Open(ctx, key, rev)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	content := make([]byte, c.Size())
	if _, err := io.ReadFull(io.NewSectionReader(c, 0, c.Size()), content); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return content, nil
}

// put is the store's Put, repeated while its end is unknown.
func (e *Entries) put(ctx context.Context, key backing.Key, content []byte, o backing.PutOptions) (backing.Meta, error) {
	var err error
	for range unknownTries {
		var m backing.Meta
		m, err = e.store.Put(ctx, key, bytes.NewReader(content), o)
		if err == nil {
			return m, nil
		}
		if !errors.Is(err, backing.ErrUnknown) {
			return m, fmt.Errorf("put %s: %w", key, err)
		}
	}
	return backing.Meta{}, fmt.Errorf("put %s: %w: %w", key, syscall.EIO, err)
}
