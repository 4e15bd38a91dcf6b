package variables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
	"ctxfs/room"
)

// spillDir holds what session variables have on disk, each a file named after
// its revision.
const spillDir backing.Key = backing.Own + "/vars-spill"

// listPage is how many names are asked of a store at once.
const listPage = 1000

// emptySpill removes what an earlier run, or this one, left.
func (v *Variables) emptySpill(ctx context.Context) error {
	if v.store.ReadOnly() {
		return nil
	}
	for {
		page, err := v.store.List(ctx, spillDir, "", listPage)
		if errors.Is(err, backing.ErrNotFound) || err == nil && len(page) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("empty %s: %w", spillDir, err)
		}
		for _, m := range page {
			if err := v.store.Remove(ctx, m.Key, ""); err != nil && !errors.Is(err, backing.ErrNotFound) {
				return fmt.Errorf("empty %s: %w", spillDir, err)
			}
		}
	}
}

// toDisk writes the content of a session variable to a new file.
func (v *Variables) toDisk(ctx context.Context, content io.Reader) (backing.Key, error) {
	key := spillDir.Join(v.next())
	err := v.inOwnDir(ctx, key, func() error {
		_, err := v.store.Put(ctx, key, content, backing.PutOptions{Mode: 0o600})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("move a session variable to disk: %w", err)
	}
	return key, nil
}

// inOwnDir runs f, making the directory of key first where it is missing. f
// reads nothing before it knows that.
func (v *Variables) inOwnDir(ctx context.Context, key backing.Key, f func() error) error {
	if _, err := v.store.Stat(ctx, key.Dir()); errors.Is(err, backing.ErrNotFound) {
		if err := room.MakeOwnDir(ctx, v.store, key.Dir()); err != nil {
			return err
		}
	}
	return f()
}

// offDisk removes a file that no session variable has any more. Whoever
// reads it goes on reading.
func (v *Variables) offDisk(key backing.Key) {
	if key == "" {
		return
	}
	if err := v.store.Remove(context.Background(), key, ""); err != nil && !errors.Is(err, backing.ErrNotFound) {
		v.o.Log.Warn("a session variable's file stays until the next start", "key", key, "err", err)
	}
}

// shrink moves the least recently used session variables to disk until those
// in memory fit below the ceiling. What cannot be moved stays as it is.
func (v *Variables) shrink(ctx context.Context) error {
	for {
		c, data := v.memory.oldest(v.o.MemoryCeiling)
		if c == nil {
			return nil
		}
		key, err := v.toDisk(ctx, bytes.NewReader(data))
		if unused := v.memory.moved(c, key); unused {
			v.offDisk(key)
		}
		if err != nil {
			return err
		}
	}
}

// oldest takes the least recently used cell from the order of use, so that
// one caller moves it to disk; nil where memory is below the ceiling.
func (m *memory) oldest(ceiling int64) (*cell, []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.uses.Front()
	if m.bytes <= ceiling || e == nil {
		return nil, nil
	}
	c := e.Value.(*cell)
	m.uses.Remove(e)
	c.use = nil
	return c, c.data
}

// moved notes that the content of c, which oldest gave out, is at key, or
// stays in memory where key is "". unused reports that c has been replaced.
func (m *memory) moved(c *cell, key backing.Key) (unused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.get(c.name) != c {
		m.bytes -= int64(len(c.data))
		return key != ""
	}
	if key == "" {
		c.use = m.uses.PushFront(c)
		return false
	}
	m.bytes -= int64(len(c.data))
	c.data, c.disk = nil, key
	m.disk.Spilled++
	m.disk.SpilledBytes += c.size
	return false
}

// bytesContent is content in memory.
type bytesContent struct{ *bytes.Reader }

func newBytes(p []byte) bytesContent { return bytesContent{bytes.NewReader(p)} }

func (bytesContent) Close() error { return nil }

// openCell opens the content of n in memory: at revision rev, or the current
// one. ErrNotFound where that is not there.
func (v *Variables) openCell(ctx context.Context, n name, rev backing.Revision) (backing.Content, error) {
	for {
		data, disk, ok := v.memory.use(n, rev)
		if !ok {
			return nil, backing.ErrNotFound
		}
		if disk == "" {
			return newBytes(data), nil
		}
		c, err := v.store.Open(ctx, disk, "")
		if err == nil || !errors.Is(err, backing.ErrNotFound) {
			return c, err
		}
		if _, now, ok := v.memory.use(n, rev); ok && now == disk {
			return nil, fmt.Errorf("the file %s of session variable %s is gone: %w", disk, n.path(), err)
		}
		// Replaced between the two looks.
	}
}

// use says where the content of n is, and counts as a use.
func (m *memory) use(n name, rev backing.Revision) (data []byte, disk backing.Key, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.get(n)
	if c == nil || rev != "" && rev != c.rev {
		return nil, "", false
	}
	if c.use != nil {
		m.uses.MoveToBack(c.use)
	}
	return c.data, c.disk, true
}
