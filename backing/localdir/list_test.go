package localdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

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

func TestAKeptListingIsNotUsedAfterAChange(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	for i := range 10 {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("k%d", i)), nil, 0o644))
	}
	page := func(after string) []string {
		list, err := s.List(context.Background(), "", after, 3)
		must(t, err)
		var names []string
		for _, m := range list {
			names = append(names, m.Key.Name())
		}
		return names
	}
	end := time.Now().Add(10 * time.Second)
	for before := -1; s.listings.reads() != before; page("") { // until the names are kept
		if before = s.listings.reads(); time.Now().After(end) {
			t.Fatal("the names are never kept")
		}
		page("")
	}
	must(t, os.WriteFile(filepath.Join(dir, "k8a"), nil, 0o644))
	must(t, os.Remove(filepath.Join(dir, "k1")))
	if first, last := page(""), page("k8"); !slices.Equal(first, []string{"k0", "k2", "k3"}) || !slices.Equal(last, []string{"k8a", "k9"}) {
		t.Fatalf("pages %q, %q", first, last)
	}
}

// reads is how often a directory was read, and not found among the kept.
func (l *listings) reads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}
