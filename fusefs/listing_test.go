package fusefs_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// listOn reads the names that come next in an open directory, once.
func (m mounted) listOn(fd int, seen map[string]int) (more bool) {
	m.Helper()
	buf := make([]byte, 2048)
	n, err := unix.ReadDirent(fd, buf)
	m.must(err)
	_, _, names := unix.ParseDirent(buf[:n], -1, nil)
	for _, name := range names {
		seen[name]++
	}
	return n > 0
}

// The kernel goes on after what one handle listed in what it keeps of others,
// which were opened later. Here a program does so.
func TestAListingThatGoesOnInANewerOneHasEachNameOnce(t *testing.T) {
	m := mount(t)
	const count = 300
	for i := range count {
		m.write(fmt.Sprintf("a/scratch-%03d", i), "")
	}
	open := func() int {
		fd, err := unix.Open(m.path("a"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		m.must(err)
		t.Cleanup(func() { m.must(unix.Close(fd)) })
		return fd
	}
	seen := map[string]int{}
	first := open()
	m.listOn(first, seen)
	at, err := unix.Seek(first, 0, unix.SEEK_CUR)
	m.must(err)
	for i := range 50 { // before and in between
		m.write(fmt.Sprintf("a/before-%03d", i), "")
		m.write(fmt.Sprintf("a/scratch-%03d-new", i), "")
	}
	second := open()
	_, err = unix.Seek(second, at, unix.SEEK_SET)
	m.must(err)
	for m.listOn(second, seen) {
	}
	for i := range count {
		if name := fmt.Sprintf("scratch-%03d", i); seen[name] != 1 {
			t.Errorf("%s is listed %d times", name, seen[name])
		}
	}
}
