package localdir

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// List returns a page of the directory dir, with metadata. The names of a
// directory that needs several pages are read once, not once a page.
func (s *Store) List(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	if err := s.begin(dir); err != nil {
		return nil, told("list", dir, err)
	}
	defer s.end()
	s.watches.touch(dir)
	fd, err := s.tree.dir(dir)
	if err != nil {
		return nil, told("list", dir, err)
	}
	defer unix.Close(fd)
	page, err := s.page(ctx, fd, dir, after, limit)
	return page, told("list", dir, err)
}

func (s *Store) page(ctx context.Context, fd int, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	if limit <= 0 {
		return nil, nil
	}
	names, err := s.listings.names(fd, dir, limit)
	if err != nil {
		return nil, err
	}
	i, found := slices.BinarySearch(names, after)
	if found {
		i++
	}
	page := make([]backing.Meta, 0, min(limit, len(names)-i))
	for ; i < len(names) && len(page) < limit; i++ {
		if len(page)%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		st, err := lookAt(fd, names[i])
		if err != nil {
			return nil, err
		}
		if st != nil { // removed meanwhile
			page = append(page, st.meta(dir.Join(names[i])))
		}
	}
	return page, nil
}

const (
	maxListings    = 16      // directories whose names are kept between pages
	maxListedNames = 1 << 20 // in all of them together, but one always stays
	// A change within one tick of the clock may leave a directory's times
	// alone, so that a listing of one that changed just now is not kept.
	listingSettle = 20 * time.Millisecond
)

// listings keeps the sorted names of the directories that were listed last
// and are longer than a page.
type listings struct {
	mu   sync.Mutex // guards what follows
	kept []listing  // the newest last
	read int        // how often a directory was read
}

type listing struct {
	dir   backing.Key
	stamp dirStamp
	names []string // sorted by bytes; never changed
}

// dirStamp changes with every change of a directory's members.
type dirStamp struct {
	ino          uint64
	major, minor uint32
	mtime, ctime int64 // nanoseconds
}

func stampOf(st *stat) dirStamp {
	return dirStamp{st.Ino, st.Dev_major, st.Dev_minor, nanoseconds(st.Mtime), nanoseconds(st.Ctime)}
}

func (l *listings) names(fd int, dir backing.Key, limit int) ([]string, error) {
	st, err := statFD(fd)
	if err != nil {
		return nil, err
	}
	stamp := stampOf(st)
	if names, ok := l.get(dir, stamp); ok {
		return names, nil
	}
	names, err := readNames(fd, dir)
	if err != nil {
		return nil, err
	}
	l.counted()
	settled := time.Since(time.Unix(0, stamp.ctime)) > listingSettle
	if len(names) > limit && settled {
		l.put(listing{dir, stamp, names})
	}
	return names, nil
}

func (l *listings) get(dir backing.Key, stamp dirStamp) ([]string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kept {
		if k.dir == dir && k.stamp == stamp {
			return k.names, true
		}
	}
	return nil, false
}

func (l *listings) counted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read++
}

func (l *listings) put(n listing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = slices.DeleteFunc(l.kept, func(k listing) bool { return k.dir == n.dir })
	l.kept = append(l.kept, n)
	total := 0
	for _, k := range l.kept {
		total += len(k.names)
	}
	for len(l.kept) > 1 && (len(l.kept) > maxListings || total > maxListedNames) {
		total -= len(l.kept[0].names)
		l.kept = slices.Delete(l.kept, 0, 1)
	}
}

// readNames returns the sorted names in the directory fd, without those that
// are the store's own.
func readNames(fd int, dir backing.Key) ([]string, error) {
	dup, err := openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(dup), string(dir))
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	switch dir {
	case "":
		names = slices.DeleteFunc(names, func(n string) bool { return n == backing.Own })
	case backing.Own:
		names = slices.DeleteFunc(names, private)
	}
	slices.Sort(names)
	return names, nil
}
