package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ctxfs/backing"
)

// openTries bounds how often an open follows a result that is overwritten
// under it.
const openTries = 8

// memoryContent is a content in memory.
type memoryContent struct{ *bytes.Reader }

func newMemoryContent(data []byte) backing.Content { return memoryContent{bytes.NewReader(data)} }

func (memoryContent) Close() error { return nil }

// open returns the content of the result of a name at a revision, "" for the
// current one; backing.ErrNotFound.
func (r *Results) open(ctx context.Context, name string, rev backing.Revision) (backing.Content, error) {
	for try := 0; ; try++ {
		rec := r.index.get(name)
		if rec == nil {
			if strings.HasPrefix(string(rev), pendingRevision) || rev == "" && r.index.isPending(name) {
				return newMemoryContent(nil), nil
			}
			return nil, backing.ErrNotFound
		}
		if rev != "" && !rec.has(rev) {
			return nil, backing.ErrNotFound
		}
		if rec.disk == "" {
			return newMemoryContent(rec.data), nil
		}
		c, err := r.store.Open(ctx, key(name), rec.disk)
		if errors.Is(err, backing.ErrNotFound) && try < openTries {
			r.names.lock(name)() // it is just being overwritten or removed: wait for the end of that
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path(name), err)
		}
		return c, nil
	}
}

// has reports whether rev has the content of r; the metadata may differ.
func (r *record) has(rev backing.Revision) bool {
	content, _, ok := strings.Cut(string(rev), ".")
	mine, _, _ := strings.Cut(string(r.revision()), ".")
	return ok && content == mine
}

// load reads a result whole.
func (r *Results) load(ctx context.Context, name string) (*Context, error) {
	c, err := r.open(ctx, name, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	content := make([]byte, c.Size())
	if _, err := io.ReadFull(io.NewSectionReader(c, 0, c.Size()), content); err != nil {
		return nil, fmt.Errorf("read %s: %w", path(name), err)
	}
	return decode(content)
}
