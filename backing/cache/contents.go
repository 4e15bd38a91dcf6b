package cache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"ctxfs/backing"
)

// pieceSize is what a content takes at least of the room there is, in bytes:
// what is known of it takes memory too.
const pieceSize = 4 << 10

// Contents are contents by key and revision, in one file, which is written from
// its beginning to its end and then again: the oldest go first. Safe for
// concurrent use.
type Contents struct {
	dir  string
	most int64 // bytes
	log  *slog.Logger

	mu     sync.RWMutex // guards what follows; held while the file is read or written
	file   *os.File     // nil before the first content, and after the end
	ended  bool
	next   int64 // where the next one goes, counted without turning back
	places map[name]place
	order  []turn // of what was put, the oldest first
}

// turn is a content that was put, and may have been dropped since.
type turn struct {
	id name
	at int64
}

// name stands for a key and a revision.
type name [16]byte

// place is where in the file a content is.
type place struct {
	at   int64 // counted without turning back
	size int
}

// NewContents returns contents that take at most that many bytes of a file in
// dir (none where that is negative), and for each 4 KiB of them some 100 bytes of memory.
func NewContents(dir string, most int64, log *slog.Logger) *Contents {
	return &Contents{dir: dir, most: most, log: log, places: map[name]place{}}
}

func nameOf(key backing.Key, rev backing.Revision) name {
	h := sha256.New()
	h.Write([]byte(key))
	h.Write([]byte{0}) // which no key holds
	h.Write([]byte(rev))
	return name(h.Sum(nil)[:len(name{})])
}

// Has reports whether the content is here.
func (c *Contents) Has(key backing.Key, rev backing.Revision) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, ok := c.places[nameOf(key, rev)]
	return ok
}

// Get returns the content, which is the caller's.
func (c *Contents) Get(key backing.Key, rev backing.Revision) ([]byte, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p, ok := c.places[nameOf(key, rev)]
	if !ok {
		return nil, false
	}
	data := make([]byte, p.size)
	if _, err := c.file.ReadAt(data, p.at%c.most); err != nil {
		c.log.Warn("a cached content cannot be read, and is fetched again", "path", key, "err", err)
		return nil, false
	}
	return data, true
}

// Put keeps data as the content of key at revision rev. That a disk is full is
// logged once, and no error: then it is not kept.
func (c *Contents) Put(key backing.Key, rev backing.Revision, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := nameOf(key, rev)
	if _, here := c.places[id]; here || c.ended || int64(len(data)) > c.most {
		return
	}
	if err := c.put(id, data); err != nil {
		c.log.Warn("contents are not cached any more", "err", err)
		if err := c.end(); err != nil {
			c.log.Warn("close the cache", "err", err)
		}
	}
}

// Drop forgets a content: the store has it no more.
func (c *Contents) Drop(key backing.Key, rev backing.Revision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.places, nameOf(key, rev)) // its room is free when its turn comes
}

func (c *Contents) put(id name, data []byte) error {
	if c.file == nil {
		f, err := unnamed(c.dir)
		if err != nil {
			return err
		}
		c.file = f
	}
	at, size := c.next, int64(len(data))
	if at%c.most+size > c.most { // not in two parts
		at += c.most - at%c.most
	}
	for len(c.order) > 0 && (c.order[0].at < at+size-c.most || int64(len(c.order)) >= max(1, c.most/pieceSize)) {
		if first := c.order[0]; c.places[first.id].at == first.at {
			delete(c.places, first.id)
		}
		c.order = c.order[1:]
	}
	if _, err := c.file.WriteAt(data, at%c.most); err != nil {
		return err
	}
	c.next = at + size
	c.places[id] = place{at, len(data)}
	c.order = append(c.order, turn{id, at})
	return nil
}

// unnamed makes a file that is gone when it is closed.
func unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".ctxfs-cache-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close forgets everything. Closing again does nothing.
func (c *Contents) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.end(); err != nil {
		return fmt.Errorf("close the cache: %w", err)
	}
	return nil
}

func (c *Contents) end() error {
	f := c.file
	c.file, c.ended = nil, true
	c.places, c.order = nil, nil
	if f == nil {
		return nil
	}
	return f.Close()
}
