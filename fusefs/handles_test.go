package fusefs

import (
	"context"
	"fmt"
	"os"
	"testing"

	"ctxfs/backing"
	"ctxfs/room"
)

// closing is an open file that its owner closes just when somebody else looks
// at it.
type closing struct {
	backing.File
	closed func()
}

func (c *closing) Stat() (backing.Meta, error) {
	c.closed()
	return backing.Meta{}, fmt.Errorf("stat: %w", os.ErrClosed)
}

func (c *closing) Fd() uintptr {
	c.closed()
	return os.Stdin.Fd() // another file has got its number
}

func (c *closing) Truncate(int64) error {
	c.closed()
	return os.ErrClosed
}

// stays is an open file that stays so.
type stays struct{ *os.File }

func (s stays) Stat() (backing.Meta, error) { return backing.Meta{Size: 7}, nil }

// A random-operations test met it as EIO of a read, after whose writes the
// kernel asks for the size: the handle of an earlier open was just closed.
func TestAHandleThatIsBeingClosedStandsInNobodysWay(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	n := &node{info: room.Info{Kind: room.Plain}}
	n.addFile(&plainFile{stays{file}, n, true})
	withClosing := func() {
		h := &plainFile{node: n, writes: true}
		h.File = &closing{closed: func() { n.removeFile(h) }}
		n.addFile(h)
	}
	withClosing()
	info, err := (&FS{}).attributes(context.Background(), n, place{})
	if err != nil || info.Size != 7 {
		t.Errorf("attributes: %+v, %v", info, err)
	}
	withClosing()
	if !n.removed() {
		t.Error("a file without a name is said to have one")
	}
	withClosing()
	found, err := n.through(true, func(h *plainFile) error { return h.Truncate(3) })
	if st, serr := file.Stat(); !found || err != nil || serr != nil || st.Size() != 3 {
		t.Errorf("truncate: %v, %v, %v, %v", found, err, st, serr)
	}
}
