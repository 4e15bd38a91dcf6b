package localdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestALargeDirectoryIsReadOncePerListing(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	const many = 20_000
	for i := range many {
		fd, err := unix.Open(filepath.Join(dir, "d", fmt.Sprintf("%06d", i)), unix.O_CREAT|unix.O_WRONLY, 0o644)
		must(t, err)
		must(t, unix.Close(fd))
	}
	after, seen, first := "", 0, 0
	for {
		page, err := s.List(context.Background(), "d", after, 1000)
		must(t, err)
		seen += len(page)
		if len(page) < 1000 {
			break
		}
		after = page[999].Key.Name()
		if seen == 5000 {
			first = s.listings.reads()
		}
	}
	if seen != many || s.listings.reads() != first {
		t.Fatalf("%d of %d names, %d readings after the fifth page", seen, many, s.listings.reads()-first)
	}
}

// reads is how often a directory was read, and not found among the kept.
func (l *listings) reads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}
