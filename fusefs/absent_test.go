package fusefs

import (
	"fmt"
	"testing"

	"ctxfs/room"
)

func TestAbsentNamesEndWithWhatIsMadeAndWithTheirDirectory(t *testing.T) {
	top := &node{info: room.Info{Kind: room.Dir}}
	tree := newTree(top, "")
	dir := tree.lookup(top, "a", place{full: "a"}, room.Info{Kind: room.Dir})
	for i := range 3 * mostAbsent {
		name := fmt.Sprintf("n%d", i)
		if !tree.absent(dir, name) {
			t.Fatalf("no place for the absence of %s", name)
		}
		if i%2 == 0 {
			tree.unnamed(&node{dir: dir, name: name})
		} else {
			tree.present(dir, name)
		}
	}
	if tree.none.count != 0 || len(tree.none.names) != 0 {
		t.Errorf("%d are left", tree.none.count)
	}
	for i := range mostAbsent {
		tree.absent(dir, fmt.Sprintf("m%d", i))
	}
	if tree.absent(top, "one more") || !tree.absent(dir, "m0") {
		t.Error("the bound does not hold")
	}
	if n := len(tree.absentIn(dir)); n != mostAbsent {
		t.Errorf("%d of %d are known", n, mostAbsent)
	}
	tree.forget(dir.id, 1)
	if !tree.absent(top, "one more") || tree.none.count != 1 {
		t.Errorf("%d are left of a directory that is gone", tree.none.count-1)
	}
	if tree.absent(dir, "late") {
		t.Error("a forgotten directory has names again")
	}
}
