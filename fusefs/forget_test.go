package fusefs_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// nodesReturn waits until the daemon knows no more than so many nodes, once the
// kernel has dropped its names, as it does at a remount.
func (m mounted) nodesReturn(most int) {
	m.Helper()
	if os.Geteuid() != 0 {
		m.Skip("only root can make the kernel drop the names of one mount")
	}
	within(m.T, "nodes are forgotten", func() error {
		m.must(unix.Mount("", m.dir, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, ""))
		if now := m.fs.Stats()["nodes"].(int); now > most {
			return fmt.Errorf("%d nodes, and not %d", now, most)
		}
		return nil
	})
}

func TestNodesOfDraftsMadeBesideReadersAreForgotten(t *testing.T) {
	m := mount(t)
	m.write("a/"+name1, entry("first\n"))
	for i := range 10 {
		r, err := os.Open(m.path("a", name1))
		m.must(err)
		m.write("a/"+name1, entry(fmt.Sprintln("text", i)))
		m.must(r.Close())
	}
	m.nodesReturn(1) // but the top
}

func TestAFilesNumberStaysThroughForgettingAndRenaming(t *testing.T) {
	m := mount(t)
	number := func(name string) uint64 {
		var st unix.Stat_t
		m.must(unix.Stat(m.path("a", name), &st))
		return st.Ino
	}
	m.write("a/scratch", "text\n")
	before := number("scratch")
	m.nodesReturn(1) // but the top
	if now := number("scratch"); now != before {
		t.Errorf("it was %d, and is %d when the kernel has looked again", before, now)
	}
	m.must(os.Rename(m.path("a", "scratch"), m.path("a", "renamed")))
	if now := number("renamed"); now != before {
		t.Errorf("it was %d, and is %d by another name", before, now)
	}
}
