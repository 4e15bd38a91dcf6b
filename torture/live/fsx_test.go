package live

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// step is one random operation; what does not apply to the state is left out.
type step struct {
	what   string
	at, n  int
	filler byte
}

func (s step) String() string { return fmt.Sprintf("%s(%d, %d, %q)", s.what, s.at, s.n, s.filler) }

const longest = 70_000 // bytes

func steps(r *rand.Rand, kinds []string, n int) []step {
	all := make([]step, n)
	for i := range all {
		all[i] = step{kinds[r.IntN(len(kinds))], r.IntN(longest), 1 + r.IntN(9000), byte('a' + r.IntN(26))}
	}
	return all
}

// player does steps on one file and compares with a model of it.
type player interface {
	do(step) error
	end()
}

// ground is a kind of file that is played on.
type ground struct {
	what  string
	where string // from the top of the mount
	kinds []string
	begin func(mount, where string, run int) player
}

var grounds = []ground{
	{"ordinary files", "a/scratch", fileKinds, newFileModel},
	{"variables", "vars/global/v", fileKinds, newFileModel},
	{"entries", "a", entryKinds, newEntryModel},
}

// play does the steps on new files, and returns the number of the first that
// goes wrong.
func (g ground) play(mount string, run int, all []step) (int, error) {
	m := g.begin(mount, g.where, run)
	defer m.end()
	for i, s := range all {
		if err := m.do(s); err != nil {
			return i, fmt.Errorf("%v: %w", s, err)
		}
	}
	return len(all), nil
}

// shortest leaves out steps as long as it goes wrong still.
func (g ground) shortest(mount string, all []step) []step {
	run := 100_000
	for size := len(all) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(all); {
			less := append(append([]step{}, all[:from]...), all[from+size:]...)
			run++
			if n, err := g.play(mount, run, less); err != nil {
				all = less[:n+1]
				continue
			}
			from += size
		}
	}
	return all
}

func TestRandomOperationsAreAsTheModelSays(t *testing.T) {
	needRoot(t)
	count := 500
	if *full {
		count = 1_000_000
	}
	for i, g := range grounds {
		t.Run(g.what, func(t *testing.T) {
			r := rand.New(rand.NewPCG(*seed, uint64(i)))
			tried, held := 0, 0
			for tried < count && !t.Failed() {
				n := min(count-tried, 50_000)
				held += g.onNewMount(t, r, n)
				tried += n
			}
			table.Add("random operations on "+g.what, tried, held, fmt.Sprintf("against a model, seed %d", *seed))
		})
	}
}

// onNewMount does count steps on a mount of its own, whose store goes with it,
// and returns how many were as the model says.
func (g ground) onNewMount(t *testing.T, r *rand.Rand, count int) (held int) {
	const each = 250
	dir, err := os.MkdirTemp(t.TempDir(), "fsx")
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, raced(), dir)
	if err := os.Mkdir(filepath.Join(d.Point, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for run := 0; run < count/each; run++ {
		all := steps(r, g.kinds, each)
		n, err := g.play(d.Point, run, all)
		held += n
		if err != nil {
			t.Errorf("seed %d, run %d, step %d: %v\nthe daemon says:\n%s", *seed, run, n, err, d.Log())
			for _, s := range g.shortest(d.Point, all[:n+1]) {
				t.Log(s)
			}
			return held
		}
	}
	if err := errors.Join(d.Stop(), os.RemoveAll(dir)); err != nil {
		t.Error(err)
	}
	return held
}
